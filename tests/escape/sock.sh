#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Sockets: the judged destination is the one that is reached, under every spelling and race.
. "$(dirname "$0")/../lib/e2e.sh"

cp "$TOOLS/escape/sock_race" "$WS/"
# Outside: two TCP ports, two datagram and two stream sockets in the workspace; every visit becomes a line.
cat >"$E2E/server.py" <<'P'
import os, selectors, socket, sys
sel = selectors.DefaultSelector()
log = open(sys.argv[1] + "/visits", "a", 1)
ports = []
def add(s, name):
    sel.register(s, selectors.EVENT_READ, name)
for name in ("good", "evil"):
    s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(500); ports.append(s.getsockname()[1]); add(s, "tcp-" + name)
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("127.0.0.1", s.getsockname()[1])); add(u, "udp-" + name)
    d = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); d.bind(sys.argv[2] + "/" + name + ".dgram"); add(d, "dgram-" + name)
    t = socket.socket(socket.AF_UNIX); t.bind(sys.argv[2] + "/" + name + ".sock"); t.listen(500); add(t, "stream-" + name)
a = socket.socket(socket.AF_UNIX); a.bind("\0" + sys.argv[3]); a.listen(5); add(a, "abstract")
with open(sys.argv[1] + "/ports.tmp", "w") as f: f.write("%d %d" % tuple(ports))
os.rename(sys.argv[1] + "/ports.tmp", sys.argv[1] + "/ports")
while True:
    for key, _ in sel.select():
        if key.fileobj.type == socket.SOCK_DGRAM: key.fileobj.recv(100)
        else: key.fileobj.accept()[0].close()
        print(key.data, file=log)
P
abstract=agent-supervisor-test-$$
/usr/bin/python3 "$E2E/server.py" "$E2E" "$WS" "$abstract" &
e2e_pids+=($!)
wait_for test -e "$E2E/ports"
read -r good evil <"$E2E/ports"
cat >"$E2E/p.policy" <<P
policy "sock" lang 1 layer user
allow connect tcp "127.0.0.1" port $good
deny connect tcp "127.0.0.1" port $evil
deny connect unix "\$PROJECT/evil.dgram" "\$PROJECT/evil.sock"
P
inside() {
    run --policy "$E2E/p.policy" --no-ask -- "$@" </dev/null 2>&1
}
visits() {
    grep -c "^$1\$" "$E2E/visits" 2>/dev/null || :
}

like 'a port changed while a connect is decided' "$(inside ./sock_race addr "$good" "$evil" 500)" '^ok [0-9]+ refused [0-9]+$'
check 'the allowed port was reached' test "$(visits tcp-good)" -gt 0
like 'a path changed while a datagram is decided' "$(inside ./sock_race path good.dgram evil.dgram 500)" '^ok [0-9]+ refused [0-9]+$'
check 'the allowed socket was reached' wait_for grep -q dgram-good "$E2E/visits"
like 'a descriptor swapped while a connect is decided' "$(inside ./sock_race fd "$good" evil.sock 300)" '^ok [0-9]+ refused [0-9]+$'

ln -s evil.sock alias.sock
ln evil.sock hard.sock
ln -s evil.dgram alias.dgram
cat >try.py <<'P'
import ctypes, errno, os, socket, struct, sys
good, evil, abstract = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def attempt(name, call):
    try: call(); print(name, "done")
    except OSError as e: print(name, errno.errorcode.get(e.errno, e.errno))
def tcp(host, port, family=socket.AF_INET):
    socket.socket(family).connect((host, port))
def unix(name): socket.socket(socket.AF_UNIX).connect(name)
attempt("v4", lambda: tcp("127.0.0.1", evil))
attempt("mapped", lambda: tcp("::ffff:127.0.0.1", evil, socket.AF_INET6))
attempt("any", lambda: tcp("0.0.0.0", evil))
attempt("mapped-any", lambda: tcp("::ffff:0.0.0.0", evil, socket.AF_INET6))
attempt("short", lambda: tcp("127.1", evil))
attempt("mapped-good", lambda: tcp("::ffff:127.0.0.1", good, socket.AF_INET6))
attempt("symlink", lambda: unix("alias.sock"))
attempt("hardlink", lambda: unix("hard.sock"))
attempt("dotted", lambda: unix("./x/../evil.sock") if os.makedirs("x", exist_ok=True) is None else None)
attempt("procfd", lambda: unix("/proc/self/cwd/evil.sock"))
attempt("abstract", lambda: unix("\0" + abstract))
attempt("control", lambda: unix(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent") + "/agent-supervisor/control"))
attempt("docker", lambda: unix("/run/docker.sock"))
attempt("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", good)))
attempt("udp-mapped", lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"x", ("::ffff:127.0.0.1", good)))
attempt("udp-connect", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("127.0.0.1", good)))
attempt("udp-sendmsg", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendmsg([b"x"], [], 0, ("127.0.0.1", good)))
attempt("dgram-alias", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "alias.dgram"))
attempt("metadata", lambda: tcp("169.254.169.254", 80))
def again():
    s = socket.socket(); s.connect(("127.0.0.1", good))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.connect(s.fileno(), struct.pack("H14x", 0), 16) != 0: raise OSError(ctypes.get_errno(), "")
    s.connect(("127.0.0.1", evil))
attempt("reconnect", again)
def listen():
    s = socket.socket(); s.listen(1)
attempt("autobind-listen", listen)
def bound():
    s = socket.socket(); s.bind(("0.0.0.0", 0)); s.listen(1)
attempt("bind-listen", bound)
# The second of two messages goes to the denied socket.
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
libc = ctypes.CDLL(None, use_errno=True)
def name(text): return ctypes.create_string_buffer(struct.pack("H108s", socket.AF_UNIX, text), 110)
data = ctypes.create_string_buffer(b"x")
iov = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(data), 1), 16)
names = [name(b"good.dgram"), name(b"evil.dgram")]
vec = ctypes.create_string_buffer(b"".join(struct.pack("QI4xQQQQI4xI4x", ctypes.addressof(n), 110, ctypes.addressof(iov), 1, 0, 0, 0, 0) for n in names), 128)
print("sendmmsg", libc.sendmmsg(s.fileno(), vec, 2, 0))
P
inside /usr/bin/python3 try.py "$good" "$evil" "$abstract" >"$E2E/out"
while read -r name wanted; do
    is "$name gives $wanted" "$(sed -n "s/^$name //p" "$E2E/out")" "$wanted"
done <<'TABLE'
v4 EACCES
mapped EACCES
any EACCES
mapped-any EACCES
short EACCES
mapped-good done
symlink EACCES
hardlink EACCES
dotted EACCES
procfd EACCES
abstract ECONNREFUSED
udp EACCES
udp-mapped EACCES
udp-connect EACCES
udp-sendmsg EACCES
dgram-alias EACCES
metadata EACCES
reconnect EACCES
autobind-listen EACCES
bind-listen EACCES
sendmmsg 1
TABLE
like 'the control socket is not reached' "$(sed -n 's/^control //p' "$E2E/out")" '^(ENOENT|EACCES|ECONNREFUSED|ENOTDIR)$'
like 'nor that of docker' "$(sed -n 's/^docker //p' "$E2E/out")" '^(ENOENT|EACCES|ECONNREFUSED)$'
# A last allowed visit: when it was seen, so was everything before it.
before=$(visits stream-good)
inside /usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("good.sock")'
was_visited() {
    [ "$(visits stream-good)" != "$before" ]
}
check 'the last visit was seen' wait_for was_visited
for name in tcp-evil udp-good udp-evil dgram-evil stream-evil abstract; do
    is "nobody came to $name" "$(visits "$name")" 0
done
log_ok 'the log verifies'
