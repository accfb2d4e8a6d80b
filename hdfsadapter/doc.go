// Package hdfsadapter is one interface over HDFS and the local file system.
//
// Make one Adapter from the configuration; it keeps the connections. As returns a user's view of all file systems. Its
// methods take names as Hadoop's tools do: hdfs://host:port/path, hdfs://nameservice/path with any number of NameNodes,
// file:///path, and paths without a scheme, which are in fs.defaultFS.
//
//	a, err := hdfsadapter.New(c, hdfsadapter.Options{})
//	defer a.Close()
//	f, err := a.As("alice").Open(ctx, "hdfs://nn/data/x")
//
// Errors are *fs.PathError with the full name. On every file system errors.Is finds fs.ErrNotExist, fs.ErrPermission,
// fs.ErrExist, syscall.ENOTEMPTY, EISDIR, ENOTDIR and EDQUOT in them. A NameNode's own message stays in the chain as an
// *ipc.RemoteError.
//
// Three ways lead to HDFS. Names and attributes go through yarn/ipc, which fails over between NameNodes. This package
// itself reads blocks. It checks every byte against its checksum before the caller sees it. When a DataNode dies, hangs
// or has a corrupt replica, it continues with another one in the middle of a read. The library
// github.com/colinmarc/hdfs writes blocks. It can't replace a DataNode that dies in the middle of a block: the write
// fails. See docs/decisions/hdfs.md.
//
// Operations on HDFS have the rights of the user; those on the local file system have the rights of this process.
package hdfsadapter
