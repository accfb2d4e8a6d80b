// Package hdfsadapter is one interface over HDFS and the local file system.
//
// An Adapter is made once from the configuration; it keeps the connections. As gives a user's view of all file systems,
// whose methods take names as Hadoop's tools do: hdfs://host:port/path, hdfs://nameservice/path with any number of
// NameNodes, file:///path, and paths without a scheme, which lie in fs.defaultFS.
//
//	a, err := hdfsadapter.New(c, hdfsadapter.Options{})
//	defer a.Close()
//	f, err := a.As("alice").Open(ctx, "hdfs://nn/data/x")
//
// Errors are *fs.PathError with the full name; errors.Is finds fs.ErrNotExist, fs.ErrPermission, fs.ErrExist,
// syscall.ENOTEMPTY, EISDIR, ENOTDIR and EDQUOT in them whatever the file system. What a NameNode said stays in the
// chain as an *ipc.RemoteError.
//
// Three ways lead to HDFS. Names and attributes go by yarn/ipc, which fails over between NameNodes. Blocks are read by
// code of this package: every byte is checked against its checksum before the caller sees it, and a DataNode that dies,
// hangs or holds a corrupt replica is replaced by another one in the middle of a read. Blocks are written by
// github.com/colinmarc/hdfs, which cannot replace a DataNode that dies in the middle of a block: the write fails. See
// docs/decisions/reading-blocks.md.
//
// On HDFS everything happens with the rights of the user. On the local file system it happens with those of this
// process.
package hdfsadapter
