package hdfsadapter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// Directive is a word to the NameNode that DataNodes are to keep a file in memory.
type Directive struct {
	ID      int64
	Expired bool // its time is over: it keeps nothing in memory any more, and goes only when it is removed
}

// mostDirectives bounds a list of directives.
const mostDirectives = 1_000_000

// hdfs returns the default file system, if that is an HDFS.
func (f *FS) hdfs() (*hdfsStore, error) {
	s, err := f.store(f.a.deflt)
	if err != nil {
		return nil, err
	}
	if h, ok := s.(*hdfsStore); ok {
		return h, nil
	}
	return nil, fmt.Errorf("cache directives on %s: %w", f.a.deflt, errors.ErrUnsupported)
}

// Cache makes DataNodes keep one replica of each block of a file of fs.defaultFS in memory for some time, by a directive of a pool. The NameNode
// doesn't check whether the user may read the file: the right to write to the pool is enough.
func (f *FS) Cache(ctx context.Context, name, pool string, life time.Duration) (id int64, err error) {
	at, err := f.Locate(name)
	if err != nil {
		return 0, err
	}
	s, err := f.hdfs()
	if err != nil {
		return 0, err
	}
	info := directiveOf(life)
	info.SetPath(at.Path)
	info.SetReplication(1)
	info.SetPool(pool)
	req := &pb.AddCacheDirectiveRequest{}
	req.SetInfo(info)
	resp, err := protocol.AddCacheDirective.Call(ctx, s.nn, req)
	if err != nil {
		return 0, fmt.Errorf("cache %s in pool %q: %w", at, pool, fromHDFS(err))
	}
	return resp.GetId(), nil
}

func directiveOf(life time.Duration) *pb.CacheDirectiveInfo {
	e := &pb.CacheDirectiveInfoExpiration{}
	e.SetMillis(life.Milliseconds())
	e.SetIsRelative(true)
	info := &pb.CacheDirectiveInfo{}
	info.SetExpiration(e)
	return info
}

// KeepCached extends a directive by some time, from now on.
func (f *FS) KeepCached(ctx context.Context, id int64, life time.Duration) error {
	s, err := f.hdfs()
	if err != nil {
		return err
	}
	info := directiveOf(life)
	info.SetId(id)
	req := &pb.ModifyCacheDirectiveRequest{}
	req.SetInfo(info)
	if _, err = protocol.ModifyCacheDirective.Call(ctx, s.nn, req); err != nil {
		return fmt.Errorf("keep cache directive %d: %w", id, fromHDFS(err))
	}
	return nil
}

// Uncache removes a directive.
func (f *FS) Uncache(ctx context.Context, id int64) error {
	s, err := f.hdfs()
	if err != nil {
		return err
	}
	req := &pb.RemoveCacheDirectiveRequest{}
	req.SetId(id)
	if _, err = protocol.RemoveCacheDirective.Call(ctx, s.nn, req); err != nil {
		return fmt.Errorf("remove cache directive %d: %w", id, fromHDFS(err))
	}
	return nil
}

// Directives returns those of a pool that the user may read. Asking for them makes the NameNode look at new ones at once.
func (f *FS) Directives(ctx context.Context, pool string) (all []Directive, err error) {
	s, err := f.hdfs()
	if err != nil {
		return nil, err
	}
	filter := &pb.CacheDirectiveInfo{}
	filter.SetPool(pool)
	last := int64(0)
	for {
		req := &pb.ListCacheDirectivesRequest{}
		req.SetPrevId(last)
		req.SetFilter(filter)
		resp, err := protocol.ListCacheDirectives.Call(ctx, s.nn, req)
		if err != nil {
			return nil, fmt.Errorf("cache directives of pool %q: %w", pool, fromHDFS(err))
		}
		before := last
		for _, e := range resp.GetElements() {
			all = append(all, Directive{e.GetInfo().GetId(), e.GetStats().GetHasExpired()})
			last = max(last, e.GetInfo().GetId())
		}
		if !resp.GetHasMore() {
			return all, nil
		}
		if last == before || len(all) > mostDirectives {
			return nil, fmt.Errorf("the NameNode keeps listing directive %d of pool %q", last, pool)
		}
	}
}
