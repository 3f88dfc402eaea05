/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "supervisord/broker/exec.h"

/* What a file is when it is run: a native ELF image with or without a loader, a script, something
 * else.
 *
 * It foresees what the kernel will do, and is never trusted alone: the file may change until the
 * kernel reads it, so exec_verify.c compares with what runs. Hostile files reach this parser: every
 * offset is checked against what was read. */

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/error.h"

#define SCRIPT_LINE_MAX 256 /* the kernel looks no further for "#!" */
#define PHDRS_MAX 64        /* more is not read; the loader is then judged at the event */

void exec_image_deinit(struct exec_image *image)
{
	free(image->interpreter);
	free(image->argument);
	memset(image, 0, sizeof(*image));
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The "#!" line by the kernel's rules: the interpreter ends at a blank or NUL, the rest of the line
 * without outer blanks is one argument, an interpreter cut off at the end of the line buffer does
 * not count. */
static int parse_script(const unsigned char *head, size_t size, struct exec_image *image)
{
	char line[SCRIPT_LINE_MAX + 1] = "";
	size_t n = size < SCRIPT_LINE_MAX ? size : SCRIPT_LINE_MAX;
	size_t start = 2, end, stop;
	const char *newline;

	memcpy(line, head, n);
	newline = memchr(line, '\n', SCRIPT_LINE_MAX);
	end = newline ? (size_t)(newline - line) : SCRIPT_LINE_MAX - 1;
	while (start < end && is_blank(line[start]))
		start++;
	stop = start;
	while (stop < end && !is_blank(line[stop]) && line[stop])
		stop++;
	if (stop == start || (!newline && stop == end && line[end]))
		return 0; /* ENOEXEC, by the kernel */

	while (end > stop && is_blank(line[end - 1]))
		end--;
	image->interpreter = strndup(line + start, stop - start);
	if (!image->interpreter)
		return err_trace(-ENOMEM);
	image->kind = EXEC_SCRIPT;
	if (stop >= end || !line[stop])
		return 0;
	while (stop < end && is_blank(line[stop]))
		stop++;
	if (stop >= end)
		return 0;
	image->argument = strndup(line + stop, end - stop);
	return image->argument ? 0 : err_trace(-ENOMEM);
}

/* The loader's name of SIZE bytes with its NUL at OFFSET. */
static int read_loader(const unsigned char *head, size_t head_size, int fd, uint64_t offset,
	uint64_t size, struct exec_image *image)
{
	_cleanup_(freep) char *name = NULL;
	uint64_t end;

	if (size < 2 || size > PATH_MAX || __builtin_add_overflow(offset, size, &end) ||
		end > INT64_MAX) {
		image->kind = EXEC_OTHER;
		return 0;
	}
	name = calloc(1, size + 1);
	if (!name)
		return err_trace(-ENOMEM);
	if (end <= head_size)
		memcpy(name, head + offset, size);
	else if (fd < 0 || pread(fd, name, size, (off_t)offset) != (ssize_t)size) {
		image->kind = EXEC_OTHER;
		return 0;
	}
	if (name[size - 1]) {
		image->kind = EXEC_OTHER;
		return 0;
	}
	image->interpreter = TAKE_PTR(name);
	return 0;
}

static int parse_elf(const unsigned char *head, size_t size, int fd, struct exec_image *image)
{
	Elf64_Phdr phdrs[PHDRS_MAX];
	Elf64_Ehdr ehdr;
	size_t bytes;

	if (size < sizeof(ehdr))
		return 0;
	memcpy(&ehdr, head, sizeof(ehdr));
	if (ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_phentsize != sizeof(Elf64_Phdr) ||
		(ehdr.e_type != ET_EXEC && ehdr.e_type != ET_DYN) || ehdr.e_phnum > PHDRS_MAX ||
		ehdr.e_phoff > INT32_MAX)
		return 0;
	bytes = ehdr.e_phnum * sizeof(Elf64_Phdr);
	if (ehdr.e_phoff + bytes <= size)
		memcpy(phdrs, head + ehdr.e_phoff, bytes);
	else if (fd < 0 || pread(fd, phdrs, bytes, (off_t)ehdr.e_phoff) != (ssize_t)bytes)
		return 0;

	image->kind = EXEC_ELF;
	for (size_t i = 0; i < ehdr.e_phnum; i++) {
		if (phdrs[i].p_type == PT_INTERP)
			return read_loader(
				head, size, fd, phdrs[i].p_offset, phdrs[i].p_filesz, image);
	}
	return 0;
}

int exec_image_parse(const unsigned char *head, size_t size, int fd, struct exec_image *image)
{
	image->kind = EXEC_OTHER;
	if (size >= 2 && head[0] == '#' && head[1] == '!')
		return parse_script(head, size, image);
	if (size >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
		return parse_elf(head, size, fd, image);
	return 0;
}

int exec_image_read(int fd, struct exec_image *image)
{
	unsigned char head[EXEC_HEADER_MAX];
	_cleanup_(closep) int file_fd = -1;
	char name[64];
	ssize_t size;

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	file_fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (file_fd < 0) {
		if (errno != EACCES && errno != EPERM)
			return err_trace(err_errno());
		image->kind = EXEC_UNREADABLE;
		return 0;
	}
	size = pread(file_fd, head, sizeof(head), 0);
	if (size < 0)
		return err_trace(err_errno());
	return exec_image_parse(head, (size_t)size, file_fd, image);
}
