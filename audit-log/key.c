/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The agent-supervisor authors */
#include "audit-log/key.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "supervisord/base/error.h"
#include "supervisord/base/file.h"
#include "supervisord/base/parse.h"

/* MUST:
 * 1. a secret lives only in sodium_malloc memory and in files of mode 0600;
 * 2. a missing or broken key file is never answered with a new key: that is the caller's decision;
 * 3. a key is durable on disk before anything says that it exists. */

#define KEY_TEXT_MAX 512
#define KEY_PREFIX "PRIVATE+KEY+"

struct audit_key {
	struct audit_vkey public;
	uint8_t *secret; /* crypto_sign_SECRETKEYBYTES, sodium_malloc */
};

void audit_key_free(struct audit_key *key)
{
	if (!key)
		return;
	sodium_free(key->secret);
	free(key);
}

static int key_new(const char *name, const uint8_t *seed, struct audit_key **keyp)
{
	_cleanup_(audit_key_freep) struct audit_key *key = calloc(1, sizeof(*key));
	uint8_t pk[AUDIT_PK_SIZE];

	if (!key)
		return -ENOMEM;
	key->secret = sodium_malloc(crypto_sign_SECRETKEYBYTES);
	if (!key->secret)
		return -ENOMEM;
	if (seed)
		crypto_sign_seed_keypair(pk, key->secret, seed);
	else
		crypto_sign_keypair(pk, key->secret);
	if (audit_vkey_init(&key->public, name, AUDIT_KEY_ED25519, pk) != 0)
		return -EINVAL;
	*keyp = TAKE_PTR(key);
	return 0;
}

int audit_key_generate(const char *name, struct audit_key **keyp)
{
	if (sodium_init() < 0)
		return -ENOSYS;
	return err_trace(key_new(name, NULL, keyp));
}

/* TEXT is the whole file in locked memory, terminated. */
static int key_from_text(char *text, size_t size, const char *name, struct audit_key **keyp)
{
	size_t prefix_size = strlen(KEY_PREFIX), name_size = strlen(name), raw_size = 0;
	_cleanup_(audit_key_freep) struct audit_key *key = NULL;
	const char *base64, *end = NULL;
	uint8_t *raw;
	char id[16];
	int r;

	if (size == 0 || text[size - 1] != '\n')
		return AUDIT_KEY_E_BAD;
	text[--size] = '\0';
	if (size < prefix_size + name_size + 10 || memcmp(text, KEY_PREFIX, prefix_size) != 0 ||
		memcmp(text + prefix_size, name, name_size) != 0 ||
		text[prefix_size + name_size] != '+' || text[prefix_size + name_size + 9] != '+')
		return AUDIT_KEY_E_BAD;
	base64 = text + prefix_size + name_size + 10;
	raw = sodium_malloc(1 + crypto_sign_SEEDBYTES);
	if (!raw)
		return -ENOMEM;
	r = sodium_base642bin(raw, 1 + crypto_sign_SEEDBYTES, base64, strlen(base64), NULL,
		&raw_size, &end, sodium_base64_VARIANT_ORIGINAL);
	if (r != 0 || *end != '\0' || raw_size != 1 + crypto_sign_SEEDBYTES ||
		raw[0] != AUDIT_KEY_ED25519)
		r = AUDIT_KEY_E_BAD;
	else
		r = key_new(name, raw + 1, &key);
	sodium_free(raw);
	if (r != 0)
		return r;
	(void)snprintf(id, sizeof(id), "%08" PRIx32, key->public.id);
	if (memcmp(id, text + prefix_size + name_size + 1, 8) != 0)
		return AUDIT_KEY_E_BAD;
	*keyp = TAKE_PTR(key);
	return 0;
}

int audit_key_load(int dir_fd, const char *file, const char *name, struct audit_key **keyp)
{
	_cleanup_(closep) int fd = -1;
	size_t size = 0;
	struct stat st;
	char *text;
	int r;

	if (sodium_init() < 0)
		return -ENOSYS;
	fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_trace(-errno);
	if (fstat(fd, &st) < 0)
		return err_trace(-errno);
	if (!S_ISREG(st.st_mode))
		return AUDIT_KEY_E_BAD;
	if (st.st_uid != geteuid() || st.st_mode & 077)
		return err_trace(-EPERM);
	text = sodium_malloc(KEY_TEXT_MAX);
	if (!text)
		return err_trace(-ENOMEM);
	/* Not through stdio or file_read: their buffers would keep a copy. */
	while (size < KEY_TEXT_MAX - 1) {
		ssize_t n = read(fd, text + size, KEY_TEXT_MAX - 1 - size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		size += (size_t)n;
	}
	r = key_from_text(text, size, name, keyp);
	sodium_free(text);
	return r;
}

int audit_key_save(const struct audit_key *key, int dir_fd, const char *file)
{
	uint8_t *raw = sodium_malloc(1 + crypto_sign_SEEDBYTES);
	char *text = sodium_malloc(KEY_TEXT_MAX);
	int n, r = -ENOMEM;

	if (raw && text) {
		raw[0] = AUDIT_KEY_ED25519;
		crypto_sign_ed25519_sk_to_seed(raw + 1, key->secret);
		n = snprintf(text, KEY_TEXT_MAX, KEY_PREFIX "%s+%08" PRIx32 "+", key->public.name,
			key->public.id);
		sodium_bin2base64(text + n, KEY_TEXT_MAX - (size_t)n - 1, raw,
			1 + crypto_sign_SEEDBYTES, sodium_base64_VARIANT_ORIGINAL);
		n += (int)strlen(text + n);
		text[n++] = '\n';
		r = file_replace(dir_fd, file, text, (size_t)n, 0600);
	}
	sodium_free(raw);
	sodium_free(text);
	return err_trace(r);
}

int audit_key_erase(int dir_fd, const char *file)
{
	static const char zeros[KEY_TEXT_MAX];
	_cleanup_(closep) int fd = openat(dir_fd, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	/* Overwriting helps on simple file systems and costs nothing elsewhere: best effort. */
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		size_t size =
			(size_t)st.st_size < sizeof(zeros) ? (size_t)st.st_size : sizeof(zeros);

		if (pwrite(fd, zeros, size, 0) == (ssize_t)size)
			(void)fdatasync(fd);
	}
	if (unlinkat(dir_fd, file, 0) < 0 && errno != ENOENT)
		return err_trace(-errno);
	return 0;
}

void audit_key_epoch_file(uint64_t epoch, char out[AUDIT_KEY_FILE_MAX])
{
	(void)snprintf(out, AUDIT_KEY_FILE_MAX, "epoch-%012" PRIu64, epoch);
}

uint64_t audit_key_epoch_of(const char *file)
{
	uint64_t epoch = 0;

	if (strlen(file) != 18 || memcmp(file, "epoch-", 6) != 0)
		return 0;
	for (const char *p = file + 6; *p; p++) {
		if (*p < '0' || *p > '9')
			return 0;
		epoch = epoch * 10 + (uint64_t)(*p - '0');
	}
	return epoch;
}

int audit_key_highest_epoch(int dir_fd, uint64_t *epochp, bool *previousp)
{
	char file[AUDIT_KEY_FILE_MAX];
	uint64_t highest = 0;
	struct dirent *entry;
	DIR *dir;
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_trace(-errno);
	dir = fdopendir(fd);
	if (!dir) {
		close_fd(fd);
		return err_trace(err_errno());
	}
	while ((entry = readdir(dir)) != NULL) {
		uint64_t epoch = audit_key_epoch_of(entry->d_name);

		if (epoch > highest)
			highest = epoch;
	}
	closedir(dir);
	*epochp = highest;
	*previousp = false;
	if (highest > 1) {
		audit_key_epoch_file(highest - 1, file);
		*previousp = faccessat(dir_fd, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	}
	return 0;
}

const struct audit_vkey *audit_key_public(const struct audit_key *key)
{
	return &key->public;
}

void audit_key_sign(const struct audit_key *key, const void *data, size_t size,
	uint8_t signature[AUDIT_SIG_SIZE])
{
	crypto_sign_detached(signature, NULL, data, size, key->secret);
}
