package javafs

import (
	"context"
	"fmt"
	"io/fs"

	"heddle/hdfsadapter/jvm"
)

// Place is the place of a file.
type Place struct{ Scheme, Authority, Path string }

func (p Place) to(m *jvm.Message) *jvm.Message {
	return m.Text(p.Scheme).Text(p.Authority).Text(p.Path)
}

// Info describes a file or directory. Times are in ms since 1970, sizes in bytes.
type Info struct {
	Name                string // last part of the path
	Size                int64
	ModTime, AccessTime int64
	Mode                fs.FileMode // permissions, fs.ModeDir and fs.ModeSticky
	Owner, Group        string
	Replication         int
	BlockSize           int64
}

func infoFrom(f *jvm.Fields) Info {
	i := Info{Name: f.Text()}
	isDir := f.Octet() == 1
	i.Size, i.ModTime, i.AccessTime = f.Number(), f.Number(), f.Number()
	i.Mode = Mode(uint32(f.Integer()))
	i.Owner, i.Group = f.Text(), f.Text()
	i.Replication, i.BlockSize = int(f.Integer()), f.Number()
	if isDir {
		i.Mode |= fs.ModeDir
		i.Size = 0
	}
	return i
}

const stickyBit = 0o1000

// Mode returns permissions that Hadoop has so; other bits count for nothing.
func Mode(bits uint32) fs.FileMode {
	m := fs.FileMode(bits) & fs.ModePerm
	if bits&stickyBit != 0 {
		m |= fs.ModeSticky
	}
	return m
}

// Bits returns permissions as Hadoop has them.
func Bits(m fs.FileMode) uint32 {
	bits := uint32(m.Perm())
	if m&fs.ModeSticky != 0 {
		bits |= stickyBit
	}
	return bits
}

// Block is a part of a file that lies on the same hosts.
type Block struct {
	Offset, Length int64
	Hosts          []string
}

// FS is a user's view.
type FS struct {
	files *Files
	by    Who
}

// As returns a user's view.
func (f *Files) As(by Who) *FS { return &FS{f, by} }

// once makes one call.
func (v *FS) once(ctx context.Context, op byte, m *jvm.Message) ([]byte, error) {
	s, err := v.files.acquire(ctx, v.by)
	if err != nil {
		return nil, err
	}
	defer v.files.release(s)
	return s.call(ctx, op, m.B, nil)
}

func about(p Place) *jvm.Message { return p.to(new(jvm.Message)) }

// Stat describes a file.
func (v *FS) Stat(ctx context.Context, p Place) (Info, error) {
	b, err := v.once(ctx, opStat, about(p))
	if err != nil {
		return Info{}, err
	}
	x := jvm.Fields{B: b}
	info := infoFrom(&x)
	return info, x.Err
}

// Bounds of entries: in a part of a list, as in jvm/java/Files.java, and of a folder.
const (
	partEntries = 2000
	maxEntries  = 1 << 20
)

// List returns the entries of a folder in any order, 1,048,576 at most.
func (v *FS) List(ctx context.Context, p Place) (all []Info, err error) {
	s, err := v.files.acquire(ctx, v.by)
	if err != nil {
		return nil, err
	}
	defer v.files.release(s)
	b, err := s.call(ctx, opList, about(p).B, s.abandon)
	for {
		if err != nil {
			return nil, err
		}
		more, part, err := decodeList(b)
		if err != nil {
			return nil, err
		}
		if all = append(all, part...); more == 0 {
			return all, nil
		}
		if len(all) > maxEntries {
			s.abandon(b)
			return nil, fmt.Errorf("the folder has more than %d entries", maxEntries)
		}
		if b, err = s.call(ctx, opMore, new(jvm.Message).Integer(more).B, nil); err != nil {
			return nil, err
		}
	}
}

// decodeList returns a part of a list, and the number under which there is more; 0: it was the last one.
func decodeList(b []byte) (more int32, all []Info, err error) {
	x := jvm.Fields{B: b}
	more = x.Integer()
	n := x.Integer()
	if x.Err != nil || n < 0 || n > partEntries {
		return 0, nil, fmt.Errorf("a reply with %d entries", n)
	}
	for range n {
		if info := infoFrom(&x); x.Err == nil {
			all = append(all, info)
		}
	}
	return more, all, x.Err
}

// Rename moves a file or folder. It fails if the target exists, unless overwrite is set. On stores without renames, such as S3, it copies.
func (v *FS) Rename(ctx context.Context, from, to Place, overwrite bool) error {
	_, err := v.once(ctx, opRename, to.to(about(from)).Flag(overwrite))
	return err
}

// Remove removes a file, or a folder: with what is in it if recursive, otherwise an empty one.
func (v *FS) Remove(ctx context.Context, p Place, recursive bool) error {
	_, err := v.once(ctx, opRemove, about(p).Flag(recursive))
	return err
}

// MkdirAll makes a folder and those above.
func (v *FS) MkdirAll(ctx context.Context, p Place, perm fs.FileMode) error {
	_, err := v.once(ctx, opMkdirs, about(p).Integer(int32(Bits(perm))))
	return err
}

// Chmod sets permissions. Stores without permissions ignore it.
func (v *FS) Chmod(ctx context.Context, p Place, perm fs.FileMode) error {
	_, err := v.once(ctx, opChmod, about(p).Integer(int32(Bits(perm))))
	return err
}

// Chown sets owner and group; "" changes nothing.
func (v *FS) Chown(ctx context.Context, p Place, owner, group string) error {
	_, err := v.once(ctx, opChown, about(p).Text(owner).Text(group))
	return err
}

// Chtimes sets times, in ms since 1970.
func (v *FS) Chtimes(ctx context.Context, p Place, modTime, accessTime int64) error {
	_, err := v.once(ctx, opChtimes, about(p).Number(modTime).Number(accessTime))
	return err
}

// Bounds of a reply with blocks.
const (
	maxBlocks = 100_000
	maxHosts  = 1000
)

// Blocks returns where parts of a file lie. Stores that aren't made of hosts name none.
func (v *FS) Blocks(ctx context.Context, p Place, offset, length int64) ([]Block, error) {
	b, err := v.once(ctx, opBlocks, about(p).Number(offset).Number(length))
	if err != nil {
		return nil, err
	}
	return decodeBlocks(b)
}

func decodeBlocks(b []byte) (all []Block, err error) {
	x := jvm.Fields{B: b}
	n := x.Integer()
	if x.Err != nil || n < 0 || n > maxBlocks {
		return nil, fmt.Errorf("a reply with %d blocks", n)
	}
	for range n {
		block := Block{Offset: x.Number(), Length: x.Number()}
		hosts := x.Integer()
		if x.Err != nil || hosts < 0 || hosts > maxHosts {
			return nil, fmt.Errorf("a reply with a block on %d hosts", hosts)
		}
		for range hosts {
			if host := x.Text(); host != "localhost" { // what a store names that isn't made of hosts (FileSystem)
				block.Hosts = append(block.Hosts, host)
			}
		}
		all = append(all, block)
	}
	return all, x.Err
}
