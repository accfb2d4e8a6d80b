// Package tfile reads and writes Hadoop's TFile (org.apache.hadoop.io.file.tfile), the container format of aggregated
// logs: a sequence of records, each a key and a value of any length.
//
// A TFile is a BCFile whose data blocks hold records. From the beginning:
//
//	16 bytes of magic
//	data blocks: per record the key's length, the key, and the value in chunks
//	meta block TFile.meta: version (1.0), number of records, name of the order of the keys ("": none)
//	meta block TFile.index: the first key, and per data block the last key and the number of records
//	meta block BCFile.index: the compression, and per data block its offset, size in the file and size
//	the meta index: per meta block "data:" and its name, its compression, offset, size in the file and size, by name
//	the offset of the meta index, eight bytes; version (1.0), two times two bytes; the magic again
//
// Each block is compressed separately: "none", or "gz", which is a zlib stream in spite of its name. A chunk is a
// length and so many bytes. The lengths of all chunks of a value except the last are negative. Numbers have a variable
// length, in an encoding of TFile's own (see vlong.go). Strings and keys follow their length.
//
// Files written here equal, byte for byte, those that Hadoop writes from the same calls, unless they are compressed.
package tfile

// Compressions of data blocks.
const (
	None = "none"
	GZ   = "gz"
)

// Magic is the beginning of a TFile.
const Magic = "\xd1\x11\xd3\x68\x91\xb5\xd7\xb6\x39\xdf\x41\x40\x92\xba\xe1\x50"

var magic = []byte(Magic)

// Names of the meta blocks.
const (
	metaPrefix    = "data:"
	fileMeta      = "TFile.meta"
	fileIndex     = "TFile.index"
	blockIndex    = "BCFile.index"
	versionMajor  = 1
	versionMinor  = 0
	tailSize      = 8 + 4 + 16 // offset, version, magic
	maxKey        = 64 << 10
	maxMetaString = 16 << 20
)

// region is the place of a block.
type region struct {
	offset int64
	size   int64 // size in the file
	raw    int64 // size without compression
}

func (r region) append(b []byte) []byte {
	return appendVLong(appendVLong(appendVLong(b, r.offset), r.size), r.raw)
}

func appendString(b []byte, s string) []byte {
	return append(appendVLong(b, int64(len(s))), s...)
}
