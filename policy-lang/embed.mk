# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# builtin.c takes the shipped policies in by .incbin, which compilers do not report as dependencies.

$(BUILD)/policy-lang/builtin.o: $(sort $(wildcard contrib/policies/*.policy))
