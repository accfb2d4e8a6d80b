#!/bin/bash

set -o pipefail -e
export PRELAUNCH_OUT="/srv/yarn/log/application_1795263726349_0023/container_1795263726349_0023_01_000001/prelaunch.out"
exec >"${PRELAUNCH_OUT}"
export PRELAUNCH_ERR="/srv/yarn/log/application_1795263726349_0023/container_1795263726349_0023_01_000001/prelaunch.err"
exec 2>"${PRELAUNCH_ERR}"
echo "Setting up env variables"
export HADOOP_CONF_DIR=${HADOOP_CONF_DIR:-"/srv/yarn/conf"}
export PATH=${PATH:-"/usr/bin:/bin"}
export LANG=${LANG:-"C.UTF-8"}
export HADOOP_TOKEN_FILE_LOCATION="/srv/yarn/local/usercache/root/appcache/application_1795263726349_0023/container_1795263726349_0023_01_000001/container_tokens"
export CONTAINER_ID="container_1795263726349_0023_01_000001"
export NM_PORT="26041"
export NM_HOST="localhost"
export NM_HTTP_PORT="26042"
export LOCAL_DIRS="/srv/yarn/local/usercache/root/appcache/application_1795263726349_0023"
export LOCAL_USER_DIRS="/srv/yarn/local/usercache/root/"
export LOG_DIRS="/srv/yarn/log/application_1795263726349_0023/container_1795263726349_0023_01_000001"
export USER="root"
export LOGNAME="root"
export HOME="/home/"
export PWD="/srv/yarn/local/usercache/root/appcache/application_1795263726349_0023/container_1795263726349_0023_01_000001"
export LOCALIZATION_COUNTERS="54,0,3,0,157"
export JVM_PID="$$"
export NM_AUX_SERVICE_mapreduce_shuffle="AABlzg=="
export A="a b "c" $HOME 'q' \ back \$X $X-$Y_1-$-$a b "
export APPLICATION_WEB_PROXY_BASE="/proxy/application_1795263726349_0023"
export CLASSPATH="a:b"
export APP_SUBMIT_TIME_ENV="1795263873705"
export P="%A%"
export NL="one
two"
export MALLOC_ARENA_MAX=""
echo "Setting up job resources"
mkdir -p dir/sub
ln -sf -- "/srv/yarn/local/usercache/root/appcache/application_1795263726349_0023/filecache/10/f2" "dir/sub/link"
ln -sf -- "/srv/yarn/local/usercache/root/appcache/application_1795263726349_0023/filecache/11/f3" "with space"
ln -sf -- "/srv/yarn/local/usercache/root/appcache/application_1795263726349_0023/filecache/12/f1" "plain"
echo "Copying debugging information"
# Creating copy of launch script
cp "launch_container.sh" "/srv/yarn/log/application_1795263726349_0023/container_1795263726349_0023_01_000001/launch_container.sh"
chmod 640 "/srv/yarn/log/application_1795263726349_0023/container_1795263726349_0023_01_000001/launch_container.sh"
# Determining directory contents
echo "ls -l:" 1>"/srv/yarn/log/application_1795263726349_0023/container_1795263726349_0023_01_000001/directory.info"
ls -l 1>>"/srv/yarn/log/application_1795263726349_0023/container_1795263726349_0023_01_000001/directory.info"
echo "find -L . -maxdepth 5 -ls:" 1>>"/srv/yarn/log/application_1795263726349_0023/container_1795263726349_0023_01_000001/directory.info"
find -L . -maxdepth 5 -ls 1>>"/srv/yarn/log/application_1795263726349_0023/container_1795263726349_0023_01_000001/directory.info"
echo "broken symlinks(find -L . -maxdepth 5 -type l -ls):" 1>>"/srv/yarn/log/application_1795263726349_0023/container_1795263726349_0023_01_000001/directory.info"
find -L . -maxdepth 5 -type l -ls 1>>"/srv/yarn/log/application_1795263726349_0023/container_1795263726349_0023_01_000001/directory.info"
echo "Launching container"
exec /bin/bash -c "env | sort > /srv/yarn/log/application_1795263726349_0023/container_1795263726349_0023_01_000001/env; (ls -la; stat -c '%A %n' * .; id; umask; echo $0 $SHLVL; ps -o pid,ppid,pgid,sid,args -e | tail -12; ls -la /proc/self/fd) > /srv/yarn/log/application_1795263726349_0023/container_1795263726349_0023_01_000001/x; exit 3"
