package conf

const runcPackage = "org.apache.hadoop.yarn.server.nodemanager.containermanager.linux.runtime.runc."

// imageKeys are those about containers in images. YARN's of docker and runc are alike.
func imageKeys() []Key {
	const rt, ours = "yarn.nodemanager.runtime.linux.", "heddle.nodemanager.images."
	keys := []Key{
		paths(ours+"dirs", "", "folders of images: REPOSITORY/TAG.tar, or an OCI layout in REPOSITORY/TAG or REPOSITORY; only administrators may write there"),
		path(ours+"docker-socket", "", "socket of a Docker daemon, such as /run/docker.sock, whose images nodes use if no folder has them; the daemon runs no container"),
		list(ours+"registries", "", "registries that nodes pull images from if no folder has them: HOST or HOST:PORT, with http:// before those without TLS; docker.io for names without a registry"),
		path(ours+"registry-logins", "", "config.json of Docker's with the node's logins to registries, for containers that bring none; only root may read it"),
		path(ours+"registry-ca", "", "PEM file with the authorities that vouch for registries, beside the machine's"),
		text(ours+"runtime", "crun", "program of the OCI runtime that runs containers in images: crun, or where it is"),
		path(ours+"store", "", "folder of the unpacked layers of images, which containers share; by default images in the NodeManager's state folder"),
		integer(ours+"store-mb", "51200", "size of all unpacked layers together, in MB; those that no container uses are removed first, the least recently used before others").min(1).max(1 << 30),
		millis(ours+"unused-ms", "-1", "how long a layer stays that no container uses; -1: until there is no room").min(60000).or("-1"),
		integer(ours+"max-image-mb", "20480", "most that the layers of one image may unpack to, in MB").min(1).max(1 << 30),
		integer(ours+"max-entries", "1000000", "most files, folders and links that the layers of one image may have").min(1).max(1 << 30),
		list(rt+"docker.capabilities", "CHOWN,DAC_OVERRIDE,FSETID,FOWNER,MKNOD,NET_RAW,SETGID,SETUID,SETFCAP,SETPCAP,NET_BIND_SERVICE,SYS_CHROOT,KILL,AUDIT_WRITE",
			"bounding set of programs in images, as far as docker.allowed.capabilities of container-executor.cfg has it; programs get none of these in Heddle"),
		text(rt+"docker.default-container-network", "host", "network of containers in images that name none"),
		list(rt+"docker.default-tmpfs-mounts", "", "where every container in an image gets an empty folder in memory"),
		text(rt+"runc.seccomp-profile", "", "file with a seccomp profile for containers of runtime runc, in the format of the OCI runtime specification"),
		class(rt+"runc.image-tag-to-manifest-plugin", runcPackage+"ImageTagToManifestPlugin", "how the manifest of a tag is found: by files; Heddle has no other plug-in"),
		class(rt+"runc.manifest-to-resources-plugin", runcPackage+"HdfsManifestToResourcesPlugin", "how the layers of a manifest are found: by their digests; Heddle has no other plug-in"),
		text(rt+"runc.image-toplevel-dir", "/runc-root", "where images of runtime runc are, as a URI: manifests/DIGEST, config/DIGEST and layers/DIGEST.sqsh below it"),
		text(rt+"runc.image-tag-to-manifest-plugin.hdfs-hash-file", "/runc-root/image-tag-to-hash", "file that says which tag has which manifest below image-toplevel-dir, as a URI"),
		path(rt+"runc.image-tag-to-manifest-plugin.local-hash-file", "", "file on the node that says the same, and goes before hdfs-hash-file"),
		integer(rt+"runc.image-tag-to-manifest-plugin.cache-refresh-interval-secs", "60", "after how many seconds files of tags are looked at again").min(0).max(1 << 30),
		integer(rt+"runc.image-tag-to-manifest-plugin.num-manifests-to-cache", "10", "images of runtime runc that a node remembers").min(0).max(10000),
		integer(rt+"runc.hdfs-manifest-to-resources-plugin.stat-cache-timeout-interval-secs", "360", "after how many seconds a remembered image's layers are looked at again").min(0).max(1 << 30),
		boolean(rt+"docker.image-update", "false", "ask the registry before each start which image has the name now; false: the one that was pulled first is used as long as its layers are here"),
		boolean(rt+"docker.privileged-containers.allowed", "false", "allow privileged containers, which Heddle always refuses").later(),
		boolean(rt+"runc.privileged-containers.allowed", "false", "allow privileged containers, which Heddle always refuses").later(),
		boolean(rt+"docker.delayed-removal.allowed", "false", "keep containers of Docker's after their end; Heddle has none to keep").later(),
	}
	for _, kind := range []string{"docker", "runc"} {
		keys = append(keys,
			text(rt+kind+".image-name", "", "image of containers of runtime "+kind+" that name none"),
			list(rt+kind+".allowed-container-networks", "host,none,bridge", "networks that containers of runtime "+kind+" may ask for; Heddle has host and none"),
			list(rt+kind+".allowed-container-runtimes", "runc", "OCI runtimes that containers of runtime "+kind+" may name; heddle.nodemanager.images.runtime runs them"),
			list(rt+kind+".default-ro-mounts", "", "what every container of runtime "+kind+" gets to read, as SOURCE:DESTINATION; container-executor.cfg must allow it, too"),
			list(rt+kind+".default-rw-mounts", "", "what every container of runtime "+kind+" gets to write to, as SOURCE:DESTINATION; container-executor.cfg must allow it, too"),
			boolean(rt+kind+".host-pid-namespace.allowed", "false", "let containers of runtime "+kind+" see the machine's processes if they ask for it; container-executor.cfg must allow it, too"),
		)
	}
	return keys
}
