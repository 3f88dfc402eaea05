/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#ifndef POLICY_LANG_TREE_H
#define POLICY_LANG_TREE_H

/* What holds for every name below a folder: the questions of the plan. */

#include "policy-lang/compile.h"

/* See policy_set_judge_tree(). */
enum policy_tree compiled_judge_tree(const struct compiled *compiled, enum op op, const char *tree);

#endif
