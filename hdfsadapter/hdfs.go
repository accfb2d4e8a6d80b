package hdfsadapter

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"heddle/hdfsadapter/javafs"
	"heddle/hdfsadapter/transfer"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/token"
)

// nameNode is the part of ipc.Failover that a store needs.
type nameNode interface {
	ipc.Invoker
	Current() string // address of the NameNode that answered last
}

// hdfsStore is one HDFS as one user sees it.
type hdfsStore struct {
	a      *Adapter
	addrs  []string
	user   string
	nn     nameNode
	own    bool // the user is this process's
	tokens []token.Token
	client string // client name for the DataNodes' logs
	data   transfer.Guard
}

func newHDFSStore(a *Adapter, addrs []string, user string, who ipc.Identity) *hdfsStore {
	retry := a.options.Retry
	if retry == 0 {
		if retry = time.Minute; len(addrs) == 1 {
			retry = 20 * time.Second
		}
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	s := &hdfsStore{
		a: a, addrs: addrs, user: user,
		client: "heddle-" + hex.EncodeToString(id[:]),
		nn: a.client.Failover(addrs, protocol.HDFSClient, who, ipc.RetryPolicy{
			MaxElapsed: retry, Base: 200 * time.Millisecond, Max: 5 * time.Second,
		}),
	}
	s.data.NameNode = s.nn
	s.data.Qualities = a.access.Qualities
	return s
}

func (s *hdfsStore) status(ctx context.Context, name string) (*pb.HdfsFileStatus, error) {
	req := &pb.GetFileInfoRequest{}
	req.SetSrc(name)
	resp, err := protocol.GetFileInfo.Call(ctx, s.nn, req)
	if err != nil {
		return nil, fromHDFS(err)
	}
	if !resp.HasFs() {
		return nil, fs.ErrNotExist
	}
	return resp.GetFs(), nil
}

func infoOf(st *pb.HdfsFileStatus) Info {
	i := Info{
		Name:       string(st.GetPath()),
		Size:       clamp(st.GetLength()),
		ModTime:    clamp(st.GetModificationTime()),
		AccessTime: clamp(st.GetAccessTime()),
		Mode:       javafs.Mode(st.GetPermission().GetPerm()),
		Owner:      st.GetOwner(),
		Group:      st.GetGroup(),
	}
	i.Encrypted = st.GetFlags()&flagCrypt != 0
	if st.GetFileType() == pb.HdfsFileStatus_IS_DIR {
		i.Mode |= fs.ModeDir
		i.Size = 0
	} else {
		i.Replication, i.BlockSize = int(st.GetBlockReplication()), clamp(st.GetBlocksize())
	}
	return i
}

func clamp(v uint64) int64 { return int64(min(v, math.MaxInt64)) }

func toPerm(m fs.FileMode) *pb.FsPermission {
	p := &pb.FsPermission{}
	p.SetPerm(javafs.Bits(m))
	return p
}

func (s *hdfsStore) stat(ctx context.Context, name string) (Info, error) {
	st, err := s.status(ctx, name)
	if err != nil {
		return Info{}, err
	}
	return infoOf(st), nil
}

func (s *hdfsStore) list(ctx context.Context, name string) ([]Info, error) {
	var out []Info
	after := []byte{}
	for {
		req := &pb.GetListingRequest{}
		req.SetSrc(name)
		req.SetStartAfter(after)
		req.SetNeedLocation(false)
		resp, err := protocol.GetListing.Call(ctx, s.nn, req)
		if err != nil {
			return nil, fromHDFS(err)
		}
		if !resp.HasDirList() {
			return nil, fs.ErrNotExist
		}
		batch := resp.GetDirList().GetPartialListing()
		for _, st := range batch {
			if len(st.GetPath()) == 0 { // the path is a file
				return nil, syscall.ENOTDIR
			}
			out = append(out, infoOf(st))
		}
		if resp.GetDirList().GetRemainingEntries() == 0 || len(batch) == 0 {
			// Java's string order differs for characters outside ASCII.
			slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
			return out, nil
		}
		last := batch[len(batch)-1].GetPath()
		if bytes.Equal(last, after) {
			return nil, fmt.Errorf("the NameNode keeps listing %q", last)
		}
		after = last
	}
}

func (s *hdfsStore) rename(ctx context.Context, from, to string, overwrite bool) error {
	req := &pb.Rename2Request{}
	req.SetSrc(from)
	req.SetDst(to)
	req.SetOverwriteDest(overwrite)
	_, err := protocol.Rename2.Call(ctx, s.nn, req)
	return fromHDFS(err)
}

func (s *hdfsStore) remove(ctx context.Context, name string, recursive bool) error {
	req := &pb.DeleteRequest{}
	req.SetSrc(name)
	req.SetRecursive(recursive)
	resp, err := protocol.Delete.Call(ctx, s.nn, req)
	if err != nil {
		return fromHDFS(err)
	}
	if !resp.GetResult() {
		if name == "/" {
			return fs.ErrPermission
		}
		return fs.ErrNotExist
	}
	return nil
}

func (s *hdfsStore) mkdirs(ctx context.Context, name string, perm fs.FileMode) error {
	req := &pb.MkdirsRequest{}
	req.SetSrc(name)
	req.SetMasked(toPerm(perm))
	req.SetCreateParent(true)
	_, err := protocol.Mkdirs.Call(ctx, s.nn, req)
	return fromHDFS(err)
}

func (s *hdfsStore) chmod(ctx context.Context, name string, perm fs.FileMode) error {
	req := &pb.SetPermissionRequest{}
	req.SetSrc(name)
	req.SetPermission(toPerm(perm))
	_, err := protocol.SetPermission.Call(ctx, s.nn, req)
	return fromHDFS(err)
}

func (s *hdfsStore) chown(ctx context.Context, name, owner, group string) error {
	req := &pb.SetOwnerRequest{}
	req.SetSrc(name)
	if owner != "" {
		req.SetUsername(owner)
	}
	if group != "" {
		req.SetGroupname(group)
	}
	_, err := protocol.SetOwner.Call(ctx, s.nn, req)
	return fromHDFS(err)
}

func (s *hdfsStore) chtimes(ctx context.Context, name string, modTime, accessTime int64) error {
	req := &pb.SetTimesRequest{}
	req.SetSrc(name)
	req.SetMtime(uint64(modTime))
	req.SetAtime(uint64(accessTime))
	_, err := protocol.SetTimes.Call(ctx, s.nn, req)
	return fromHDFS(err)
}

// located returns the blocks that overlap the length bytes from offset on.
func (s *hdfsStore) located(ctx context.Context, name string, offset, length int64) (*pb.LocatedBlocks, error) {
	req := &pb.GetBlockLocationsRequest{}
	req.SetSrc(name)
	req.SetOffset(uint64(offset))
	req.SetLength(uint64(length))
	resp, err := protocol.GetBlockLocations.Call(ctx, s.nn, req)
	if err != nil {
		return nil, fromHDFS(err)
	}
	if !resp.HasLocations() {
		return nil, fs.ErrNotExist
	}
	return resp.GetLocations(), nil
}

func (s *hdfsStore) blocks(ctx context.Context, name string, offset, length int64) ([]Block, error) {
	located, err := s.located(ctx, name, offset, length)
	if err != nil {
		return nil, err
	}
	out := make([]Block, 0, len(located.GetBlocks()))
	for _, b := range located.GetBlocks() {
		block := Block{Offset: clamp(b.GetOffset()), Length: clamp(b.GetB().GetNumBytes()), Corrupt: b.GetCorrupt(), ID: b.GetB().GetBlockId(), Stamp: b.GetB().GetGenerationStamp(), Open: located.GetUnderConstruction()}
		cached := b.GetIsCached()
		for i, at := range b.GetLocs() {
			id := at.GetId()
			host := id.GetHostName()
			block.Hosts = append(block.Hosts, host)
			block.Names = append(block.Names, address(id, false))
			block.Racks = append(block.Racks, path.Join(at.GetLocation(), address(id, false)))
			if whole, used := at.GetCacheCapacity(), at.GetCacheUsed(); whole > used {
				block.CacheRoom = max(block.CacheRoom, clamp(whole-used))
			}
			if i < len(cached) && cached[i] {
				block.Cached = append(block.Cached, host)
			}
		}
		out = append(out, block)
	}
	return out, nil
}
