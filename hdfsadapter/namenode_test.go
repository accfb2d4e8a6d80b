package hdfsadapter

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
)

// scriptedNameNode answers every call with the same bytes.
type scriptedNameNode []byte

func (n scriptedNameNode) Invoke(_ context.Context, _ ipc.Method, _, resp proto.Message) error {
	return proto.Unmarshal(n, resp)
}

func (n scriptedNameNode) Current() string { return "" }

func listing(names ...string) *pb.GetListingResponse {
	l := &pb.DirectoryListing{}
	var all []*pb.HdfsFileStatus
	for _, n := range names {
		st := &pb.HdfsFileStatus{}
		st.SetPath([]byte(n))
		st.SetFileType(pb.HdfsFileStatus_IS_FILE)
		st.SetLength(5)
		p := &pb.FsPermission{}
		p.SetPerm(0o644)
		st.SetPermission(p)
		st.SetOwner("o")
		st.SetGroup("g")
		st.SetModificationTime(1)
		st.SetAccessTime(1)
		all = append(all, st)
	}
	l.SetPartialListing(all)
	l.SetRemainingEntries(1)
	r := &pb.GetListingResponse{}
	r.SetDirList(l)
	return r
}

// A NameNode that never comes to the end of a folder was asked without end.
func TestListingThatDoesNotAdvanceEnds(t *testing.T) {
	b, err := proto.Marshal(listing("a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	s := &hdfsStore{nn: scriptedNameNode(b)}
	if l, err := s.list(t.Context(), "/"); err == nil {
		t.Errorf("%d entries", len(l))
	}
}

// FuzzNameNode answers with whatever bytes: nothing ends in a panic, or doesn't end.
func FuzzNameNode(f *testing.F) {
	blocks := &pb.GetBlockLocationsResponse{}
	ls := &pb.LocatedBlocks{}
	ls.SetBlocks([]*pb.LocatedBlock{located(10)})
	ls.SetFileLength(10)
	ls.SetUnderConstruction(false)
	ls.SetIsLastBlockComplete(true)
	blocks.SetLocations(ls)
	info := &pb.GetFileInfoResponse{}
	info.SetFs(listing("a").GetDirList().GetPartialListing()[0])
	for _, m := range []proto.Message{listing("a"), blocks, info} {
		b, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, int64(5))
	}
	f.Fuzz(func(t *testing.T, answer []byte, off int64) {
		s := &hdfsStore{nn: scriptedNameNode(answer), a: &Adapter{}}
		ctx := t.Context()
		if i, err := s.stat(ctx, "/a"); err == nil && (i.Size < 0 || i.BlockSize < 0) {
			t.Fatalf("%+v", i)
		}
		_, _ = s.list(ctx, "/")
		if bs, err := s.blocks(ctx, "/a", 0, 10); err == nil {
			for _, b := range bs {
				if b.Offset < 0 || b.Length < 0 || len(b.Hosts) != len(b.Names) {
					t.Fatalf("%+v", b)
				}
			}
		}
		_ = s.mkdirs(ctx, "/a", 0o700)
		_ = s.rename(ctx, "/a", "/b", false)
		_ = s.remove(ctx, "/a", true)
		r := &hdfsReader{s: s, path: "/a", ctx: ctx, info: Info{Size: 1 << 40, BlockSize: 1 << 20}, tried: map[replica]bool{}}
		off = max(0, off)
		b, err := r.block(off)
		if err != nil {
			return
		}
		if from := clamp(b.GetOffset()); from > off {
			t.Fatalf("the block from %d on has byte %d", from, off)
		}
		newDataNodes(true, 0).choose(b, func(*pb.DatanodeID, string) bool { return false })
	})
}

// Nor of the directives of a pool.
func TestDirectivesThatDoNotAdvanceEnd(t *testing.T) {
	stats := &pb.CacheDirectiveStats{}
	stats.SetBytesNeeded(1)
	stats.SetBytesCached(1)
	stats.SetFilesNeeded(1)
	stats.SetFilesCached(1)
	stats.SetHasExpired(true)
	info := &pb.CacheDirectiveInfo{}
	info.SetId(7)
	e := &pb.CacheDirectiveEntry{}
	e.SetInfo(info)
	e.SetStats(stats)
	r := &pb.ListCacheDirectivesResponse{}
	r.SetElements([]*pb.CacheDirectiveEntry{e})
	r.SetHasMore(true)
	b, err := proto.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	at := Location{SchemeHDFS, "nn:1", "/"}
	a := &Adapter{deflt: at, ctx: t.Context()}
	f := &FS{a: a, stores: map[string]*hdfsStore{at.Authority: {a: a, nn: scriptedNameNode(b)}}}
	if all, err := f.Directives(t.Context(), "p"); err == nil || !strings.Contains(err.Error(), "directive 7") {
		t.Errorf("%v, %v", all, err)
	}
	r.SetHasMore(false)
	if b, err = proto.Marshal(r); err != nil {
		t.Fatal(err)
	}
	f.stores[at.Authority].nn = scriptedNameNode(b)
	if all, err := f.Directives(t.Context(), "p"); err != nil || !slices.Equal(all, []Directive{{7, true}}) {
		t.Errorf("%v, %v", all, err)
	}
	a.deflt = Location{SchemeFile, "", "/"}
	if _, err := f.Directives(t.Context(), "p"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("local files: %v", err)
	}
}
