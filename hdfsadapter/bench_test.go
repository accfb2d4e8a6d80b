package hdfsadapter

import (
	"io"
	"testing"
)

const benchSize = 64 << 20

// BenchmarkRead reads a file of 64 MiB that lies in the page cache of the same machine.
func BenchmarkRead(b *testing.B) {
	_, f, dir := onHDFS(b)
	put(b, f, dir+"/f", randomBytes(benchSize, 1), CreateOptions{BlockSize: 16 << 20, Replication: 1})
	b.SetBytes(benchSize)
	for b.Loop() {
		r, err := f.Open(b.Context(), dir+"/f")
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, r); err != nil || n != benchSize {
			b.Fatal(n, err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadAt reads 4 KiB at places all over a file.
func BenchmarkReadAt(b *testing.B) {
	_, f, dir := onHDFS(b)
	put(b, f, dir+"/f", randomBytes(benchSize, 1), CreateOptions{BlockSize: 16 << 20, Replication: 1})
	r, err := f.Open(b.Context(), dir+"/f")
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	p := make([]byte, 4096)
	off := int64(0)
	for b.Loop() {
		off = (off + 7_919_993) % (benchSize - 4096)
		if _, err := r.ReadAt(p, off); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWrite writes 64 MiB with one replica.
func BenchmarkWrite(b *testing.B) {
	_, f, dir := onHDFS(b)
	data := randomBytes(benchSize, 1)
	b.SetBytes(benchSize)
	for b.Loop() {
		put(b, f, dir+"/f", data, CreateOptions{Overwrite: true, BlockSize: 16 << 20, Replication: 1})
	}
}

// BenchmarkStat is one question to the NameNode.
func BenchmarkStat(b *testing.B) {
	_, f, dir := onHDFS(b)
	for b.Loop() {
		if _, err := f.Stat(b.Context(), dir); err != nil {
			b.Fatal(err)
		}
	}
}
