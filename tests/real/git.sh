# needs: git
# timeout: 120
# modes: bare
# Case 27: a repository's life; every hash is as natively.
set -u
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_CONFIG_NOSYSTEM=1
export GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE HOME=$PWD/home
mkdir home
git config --global user.name T; git config --global user.email t@example.org
git config --global init.defaultBranch main
git config --global gc.auto 0; git config --global advice.detachedHead false
git init -q r && cd r || exit 1
for i in $(seq 50); do echo "file $i" >f$i; done
mkdir -p d/e; seq 1000 >d/e/big; ln -s f1 link; chmod +x f2
git add . && git commit -qm one && git log --format='%H %s'
git switch -q -c b; echo more >>f1; git commit -qam two
git switch -q -; git merge -q --no-edit b; git log --format='%H %s'
echo change >f3; git stash -q; git stash list; git stash pop -q
git status --short; git diff --stat; git checkout -q f3
git mv f4 renamed; git rm -q f5; git commit -qm three; git status --short
git branch -a; git tag v1; git tag -am ann v2; git describe
git gc -q && git fsck --full 2>&1 | sort; git count-objects
git worktree add -q ../w b && git -C ../w log -1 --format=%H
git worktree list | awk '{print $2, $3}'
git clone -q . ../c && git -C ../c log --format=%H | head -1
git clone -q --bare . ../bare.git && git push -q ../bare.git main:pushed
git -C ../bare.git branch
cd ../c && echo x >n && git add n && git commit -qm four && git push -q \
	../bare.git HEAD:main && git -C ../bare.git log -1 --format=%H main
git rebase -q HEAD~1 && git bisect start -q HEAD HEAD~2 >/dev/null 2>&1
git show-ref; git grep -c file | wc -l
git archive HEAD | tar t | sort | tail -2
git clean -fdxq; git reset -q --hard HEAD~1; git log -1 --format=%H
