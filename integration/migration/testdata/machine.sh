# Sets up a machine from within: DIR NAME ADDRESS JARS "ALL NAMES…". Its folders below DIR become /etc, /var, /opt, /usr/local/bin and /tmp.
dir=$1 name=$2 address=$3 jars=$4 all=$5
mount --make-rprivate /
mount -t proc proc /proc
hostname $name.example.com
ip link set lo up
ip addr add $address/24 dev eth0
ip link set eth0 up
mkdir -p $dir/etc $dir/var/log $dir/var/lib $dir/var/run $dir/opt/hadoop/share $dir/opt/jars $dir/usr/local/bin $dir/tmp
chmod 1777 $dir/tmp
cp -a /etc/. $dir/etc/
printf '127.0.0.1 localhost\n' >$dir/etc/hosts
i=0
for n in $all; do i=$((i + 1)); printf '10.77.0.%s %s.example.com %s\n' $i $n $n >>$dir/etc/hosts; done
printf 'hosts: files\npasswd: files\ngroup: files\n' >$dir/etc/nsswitch.conf
printf 'yarn:x:2001:2001::/tmp:/bin/sh\nalice:x:2002:2002::/tmp:/bin/sh\nhdfs:x:2003:2003::/tmp:/bin/sh\n' >>$dir/etc/passwd
printf 'yarn:x:2001:\nalice:x:2002:\nhdfs:x:2003:\nhadoop:x:2000:yarn,hdfs\n' >>$dir/etc/group
mkdir -p $dir/etc/hadoop/conf $dir/etc/systemd/system $dir/etc/default
mount --bind $jars $dir/opt/jars
mkdir -p $dir/opt/hadoop/share/hadoop
for part in common hdfs yarn mapreduce; do ln -sfn /opt/jars $dir/opt/hadoop/share/hadoop/$part; done
for part in etc var opt usr/local/bin; do mount --rbind $dir/$part /$part; done
mkdir -p $dir/tmp/machines
mount --bind $(dirname $dir) $dir/tmp/machines
mount --rbind $dir/tmp /tmp
