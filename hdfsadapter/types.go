package hdfsadapter

import (
	"io"
	"io/fs"
)

// Info describes a file or directory.
type Info struct {
	Path        string      // full name, with scheme
	Name        string      // last part of it
	Size        int64       // bytes; 0 of a directory
	ModTime     int64       // ms since 1970
	AccessTime  int64       // ms since 1970; 0 if not kept
	Mode        fs.FileMode // permissions, fs.ModeDir and fs.ModeSticky
	Owner       string
	Group       string
	Replication int   // copies of each block; 0 of a directory
	BlockSize   int64 // bytes; 0 of a directory
	Encrypted   bool  // it is in an encryption zone: what readers get isn't what is stored
}

// IsDir reports whether it is a directory.
func (i Info) IsDir() bool { return i.Mode.IsDir() }

// Reader is an open file. ReadAt may be called by several goroutines at once, Read and Seek by one; Close by any, and
// it ends reads that wait.
type Reader interface {
	io.ReadSeekCloser
	io.ReaderAt
	// Info returns the file as it was when it was opened. Reads end at its size, even if the file grows.
	Info() Info
}

// Writer is a file that is being written. Readers see it whole after Close has returned nil, and on HDFS not sooner. It
// isn't safe for use by several goroutines.
type Writer interface {
	io.Writer
	// Flush sends what was written so far.
	Flush() error
	// Close completes the file. After an error, of Close or of a Write before, the file is incomplete.
	Close() error
}

// CreateOptions say how a file is created.
type CreateOptions struct {
	Overwrite   bool        // replace a file that exists; else that is fs.ErrExist
	Perm        fs.FileMode // 0: 0666 less fs.permissions.umask-mode; else exactly this
	Replication int         // 0: dfs.replication
	BlockSize   int64       // bytes, a multiple of 512; 0: dfs.blocksize
}

// Block is a part of a file that lies on the same hosts.
type Block struct {
	Offset  int64    // in the file
	Length  int64    // bytes
	Hosts   []string // names of the hosts with a replica, best first
	Names   []string // host or IP address and port of their DataNodes, in the same order
	Racks   []string // topology path of each: /rack/ip:port
	Cached  []string // those of Hosts that have it in memory
	Corrupt bool     // no good replica is known
	// CacheRoom is how many bytes one of Hosts can still keep in memory for the NameNode; 0: none keeps any.
	CacheRoom int64
	// ID and Stamp name what is in the block: a file that is replaced has other IDs, one that is appended to or cut another Stamp (the generation
	// stamp). Both are 0 of a local file.
	ID, Stamp uint64
	// Open says that the file is being written: readers may see more than Length of its last block.
	Open bool
}
