#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Real programs under the core policy: output, exit status and files equal those without supervision.
. "$(dirname "$0")/../lib/e2e.sh"

fixed='export GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z;'
make_repo="$fixed"' git init -q src && cd src && for i in 1 2 3; do echo $i >f$i; git add .; git commit -qm c$i; done'

same 'git clone of a local repository' "$make_repo" "$fixed"' git clone -q src dst && ls -A dst && git -C dst log --oneline'
same 'git branch, commit, status, log' "$make_repo" \
    "$fixed"' cd src; git checkout -q -b topic; echo x >>f1; git status; git commit -qam change; git log --format="%H %s"; git status -s'
same 'git stash, merge, rebase, gc' "$make_repo" \
    "$fixed"' cd src; echo y >>f2; git stash -q; git stash pop -q; git commit -qam y; git checkout -q -b b HEAD~1; echo z >z; git add z; git commit -qm z; git merge -q --no-edit main; git gc -q; git fsck; git log --oneline | wc -l'
log_ok 'the log verifies after git'

cat >"$E2E/prog.c" <<'C'
#include <stdio.h>
#include "part.h"
int main(void) { printf("%d\n", part(20)); return 3; }
C
same 'a C project built with make -j2' \
    "cp $E2E/prog.c main.c; echo 'int part(int);' >part.h; for i in 1 2 3 4 5 6; do echo \"int p\$i(int x); int p\$i(int x) { return x + \$i; }\" >p\$i.c; done; echo 'int p1(int);int part(int x){return p1(x);}' >part.c; printf 'OBJS = main.o part.o p1.o p2.o p3.o p4.o p5.o p6.o\nprog: \$(OBJS)\n\t\$(CC) -o \$@ \$(OBJS)\n' >Makefile" \
    'make -s -j2 prog && ./prog'
same 'gcc reports errors as it does' "echo 'int main(void){return y;}' >bad.c" 'gcc -Wall -o bad bad.c'
log_ok 'the log verifies after a build'

if command -v node >/dev/null; then
    same 'a node program with files, timers, child processes' : \
        'node -e '\''const fs=require("fs"),cp=require("child_process");fs.writeFileSync("a.txt","hi");fs.renameSync("a.txt","b.txt");console.log(fs.readFileSync("b.txt","utf8"),cp.execSync("echo child").toString().trim());setTimeout(()=>{console.log("timer");process.exit(5)},10)'\'''
    same 'node worker threads and promises' : \
        'node -e '\''const {Worker}=require("worker_threads");let n=0;for(let i=0;i<4;i++){new Worker("require(\"worker_threads\").parentPort.postMessage(1)",{eval:true}).on("message",m=>{n+=m;if(n==4)console.log("all")})}'\'''
else
    skip 'node programs' 'no node'
fi
if command -v npm >/dev/null; then
    same 'npm install from a local archive' \
        'mkdir pkg && cd pkg && echo "{\"name\":\"localpkg\",\"version\":\"1.0.0\",\"main\":\"index.js\"}" >package.json && echo "module.exports=42" >index.js && HOME=$PWD npm pack --silent --cache ../.cache && cd .. && mv pkg/localpkg-1.0.0.tgz . && rm -rf pkg .cache && echo "{\"name\":\"app\",\"version\":\"1.0.0\"}" >package.json' \
        'npm install --offline --no-audit --no-fund --silent --cache "$PWD/.cache" ./localpkg-1.0.0.tgz && rm -rf .cache node_modules/.package-lock.json && node -p "require(\"localpkg\")"'
else
    skip 'npm install from a local archive' 'no npm'
fi
log_ok 'the log verifies after node'

same 'python with imports' : '/usr/bin/python3 -c "import json,ssl,sqlite3,asyncio,ctypes,http.client,xml.dom.minidom; print(json.dumps({1:2}))"'
same 'python subprocess and threads' : \
    '/usr/bin/python3 -c "
import subprocess,threading
r=[]
ts=[threading.Thread(target=lambda i=i:r.append(subprocess.run([\"/bin/echo\",str(i)],capture_output=True,text=True).stdout)) for i in range(16)]
[t.start() for t in ts];[t.join() for t in ts];print(sorted(r))"'
same 'python multiprocessing and executors' : \
    '/usr/bin/python3 -c "
from concurrent.futures import ProcessPoolExecutor as P
import multiprocessing as m
if __name__==\"__main__\":
    print(list(P(2).map(abs,range(-9,0))))
    with m.Pool(2) as p: print(p.map(abs,range(-5,0)))
    q=m.Queue();x=m.Process(target=q.put,args=(7,));x.start();print(q.get());x.join()"'
same 'python asyncio subprocess' : \
    '/usr/bin/python3 -c "
import asyncio
async def main():
    p=await asyncio.create_subprocess_exec(\"/bin/cat\",stdin=-1,stdout=-1);print(await p.communicate(b\"x\"))
asyncio.run(main())"'
same 'a python traceback' : '/usr/bin/python3 -c "open(\"missing\")"'
log_ok 'the log verifies after python'

tree='mkdir -p a/b/c; for i in $(seq 50); do echo "line $i" >a/b/f$i; done; ln -s b a/link; ln a/b/f1 a/hard'
same 'find' "$tree" 'find . -type f -newermt 2000-01-01 | LC_ALL=C sort; find . -type l'
same 'grep -r' "$tree" 'grep -r "line 4" . | LC_ALL=C sort'
same 'tar there and back' "$tree" 'tar cf t.tar a && mkdir x && tar xf t.tar -C x && find x | LC_ALL=C sort && rm t.tar'
same 'sed -i' "$tree" 'sed -i s/line/LINE/ a/b/f7 && cat a/b/f7'
same 'cp -a, mv, rm -r, chmod, touch' "$tree" 'cp -a a z && mv z y && chmod 700 y && touch -d 2020-01-01 y/hard && rm -r a && ls -l --time-style=full-iso y/hard | cut -d" " -f1,6'
if command -v vim >/dev/null; then
    same 'a save by vim' 'echo one >t.txt; chmod 640 t.txt' 'vim -u NONE -N -es -c "%s/one/two/" -c wq t.txt; cat t.txt'
else
    skip 'a save by vim' 'no vim'
fi
same 'rename over a file' 'echo old >t' '/usr/bin/python3 -c "import os;open(\"t.new\",\"w\").write(\"new\");os.replace(\"t.new\",\"t\");print(open(\"t\").read())"'
same 'an O_TMPFILE and linkat save' : '/usr/bin/python3 -c "
import os
f=os.open(\".\",os.O_TMPFILE|os.O_WRONLY,0o644);os.write(f,b\"x\");os.link(\"/proc/self/fd/%d\"%f,\"t\",follow_symlinks=True);print(open(\"t\").read())"'
same 'files of every mode under umask' : 'for m in 000 022 077 027; do (umask $m; touch f$m; mkdir d$m; mkfifo p$m); done'
same 'a fifo between two processes' 'mkfifo p' '(echo through >p &) ; cat p'
same 'here documents and process substitution' : 'cat <<X
text
X
diff <(echo a) <(echo b); cat /dev/fd/3 3<<<fd'
same 'a pipeline of 20 stages' : 'seq 1000 | cat | cat | cat | cat | cat | cat | cat | cat | cat | cat | cat | cat | cat | cat | cat | cat | cat | sort -rn | head -3'
same 'exit statuses' : '(exit 7); echo $?; sh -c "kill -TERM \$\$"; echo $?; nosuchcommand; echo $?; ./; exit 42'
same 'semaphores and shared memory' : '/usr/bin/python3 -c "
from multiprocessing import shared_memory as s
a=s.SharedMemory(create=True,size=16);a.buf[0]=5;b=s.SharedMemory(a.name);print(b.buf[0]);b.close();a.close();a.unlink()"'
same 'mktemp and /tmp' : 'd=$(mktemp -d) && echo hi >$d/f && cat $d/f && rm -r $d'
same 'unix sockets in the workspace' : '/usr/bin/python3 -c "
import socket,threading
s=socket.socket(socket.AF_UNIX);s.bind(\"s\");s.listen()
t=threading.Thread(target=lambda:s.accept()[0].sendall(b\"hello\"));t.start()
c=socket.socket(socket.AF_UNIX);c.connect(\"s\");print(c.recv(9));t.join()"'
same 'descriptors over a socket pair' : '/usr/bin/python3 -c "
import socket,os
a,b=socket.socketpair();f=os.open(\"/etc/hostname\",os.O_RDONLY);socket.send_fds(a,[b\"x\"],[f]);m,fds,_,_=socket.recv_fds(b,9,1);print(m,len(os.read(fds[0],100))>0)"'
log_ok 'the log verifies after file tools'

for shell in dash zsh; do
    command -v $shell >/dev/null || {
        skip "here document of $shell" "no $shell"
        continue
    }
    same "here document of $shell" : "$shell -c 'cat <<X
hi
X'"
done
if command -v go >/dev/null; then
    same 'a static Go program with many threads' \
        'mkdir g && cd g && printf "module x\n\ngo 1.19\n" >go.mod && cat >main.go <<X
package main

import ("fmt"; "os"; "sync"; "os/exec")

func main() {
	var w sync.WaitGroup
	for i := 0; i < 64; i++ { w.Add(1); go func(i int) { defer w.Done(); for k := 0; k < 50; k++ { n := fmt.Sprintf("f%d", i); os.WriteFile(n, []byte(n), 0600); b, _ := os.ReadFile(n); if string(b) != n { panic("differs") }; os.Remove(n) } }(i) }
	w.Wait()
	o, e := exec.Command("/bin/echo", "done").Output()
	fmt.Print(string(o), e)
}
X
GOCACHE=$PWD/cache GOPATH=$PWD/path HOME=$PWD CGO_ENABLED=0 go build -o ../prog . && cd .. && chmod -R u+w g && rm -rf g' './prog'
    log_ok 'the log verifies after Go'
else
    skip 'a static Go program with many threads' 'no go'
fi
