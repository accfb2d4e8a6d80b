package nm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"heddle/hdfsadapter"
	"heddle/internal/userfiles"
	"heddle/internal/within"
	"heddle/nm/allocation"
	"heddle/nm/warming"
)

// openWarming makes what reads ahead of maps, if the configuration asks for it.
func (n *NodeManager) openWarming(files *hdfsadapter.Adapter) error {
	const prefix = "heddle.nodemanager.warming."
	c := n.o.Conf
	if !c.Bool(prefix + "enabled") {
		return nil
	}
	root, err := files.As("").Locate("/")
	if err != nil {
		return err
	}
	if root.Scheme != hdfsadapter.SchemeHDFS {
		n.log.Infof("nothing is read ahead of maps (%senabled): fs.defaultFS is %s, and not HDFS", prefix, root)
		return nil
	}
	n.warmer = warming.New(warming.Config{
		Window: int64(c.Int(prefix+"window-mb")) << 20, Rate: int64(c.Int(prefix+"mb-per-second")) << 20, Readers: c.Int(prefix + "readers"),
		Open: func(ctx context.Context, user, file string) (warming.File, error) {
			if user == "" { // which would be the NodeManager's own
				return nil, errors.New("the order names no user")
			}
			as := usersView(n, files, user)
			at, err := as.Locate(file)
			if err != nil {
				return nil, err
			}
			if at.Scheme != root.Scheme || at.Authority != root.Authority {
				return nil, fmt.Errorf("%s is not on %s", at, root)
			}
			return as.OpenHere(ctx, at.String())
		},
		Log: n.log, NameNode: n.cachePool(files), CacheMost: int64(c.Int(prefix+"cache-mb")) << 20, CacheLease: c.Duration(prefix + "cache-lease-ms"),
	})
	for _, m := range n.warmer.Collectors() {
		if err := n.metrics.Register(m); err != nil {
			return err
		}
	}
	return nil
}

// cachePool returns the NameNode's cache; nil without a pool of it.
func (n *NodeManager) cachePool(files *hdfsadapter.Adapter) warming.NameNode {
	const prefix = "heddle.nodemanager.warming."
	if pool := n.o.Conf.Text(prefix + "cache-pool"); pool != "" {
		return &cachePool{n, files, pool, n.o.Conf.Duration(prefix + "cache-lease-ms")}
	}
	return nil
}

// cachePool makes directives of one pool as the NodeManager's own user, whose pool it is. Users' rights are asked for first (Blocks).
type cachePool struct {
	n     *NodeManager
	files *hdfsadapter.Adapter
	pool  string
	lease time.Duration
}

func (p *cachePool) Blocks(ctx context.Context, user, file string) ([]hdfsadapter.Block, error) {
	if user == "" { // which would be the NodeManager's own
		return nil, errors.New("the job has no user")
	}
	as := usersView(p.n, p.files, user)
	at, err := as.Locate(file)
	if err != nil {
		return nil, err
	}
	root, err := as.Locate("/")
	if err != nil {
		return nil, err
	}
	if at.Scheme != root.Scheme || at.Authority != root.Authority {
		return nil, fmt.Errorf("%s is not on %s", at, root)
	}
	if own, err := p.files.As("").Locate(file); err != nil || own != at { // Cache would take another one
		return nil, fmt.Errorf("%q is no whole path", file)
	}
	return as.Blocks(ctx, at.String(), 0, math.MaxInt64)
}

func (p *cachePool) Cache(ctx context.Context, file string) (int64, error) {
	return p.files.As("").Cache(ctx, file, p.pool, p.lease)
}

func (p *cachePool) Keep(ctx context.Context, id int64) error {
	return p.files.As("").KeepCached(ctx, id, p.lease)
}

func (p *cachePool) Uncache(ctx context.Context, id int64) error {
	return p.files.As("").Uncache(ctx, id)
}

func (p *cachePool) Directives(ctx context.Context) ([]hdfsadapter.Directive, error) {
	return p.files.As("").Directives(ctx, p.pool)
}

// localized returns the part that learns from ApplicationMasters' resources what jobs will read; nil if there is none.
func (n *NodeManager) localized() func(allocation.Grant, map[string]string) {
	if n.warmer == nil {
		return nil
	}
	var reading sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	n.closing(func() {
		cancel()
		within.Wait(&reading, n.s.disks.Patience)
	})
	return func(g allocation.Grant, paths map[string]string) {
		app, uid := g.ID.Attempt.App, userfiles.Anybody
		files := warming.Resources{List: paths[warming.ListLink], Splits: paths[warming.SplitLink]}
		if !g.Master() || files.List == "" || files.Splits == "" {
			return
		}
		if n.s.container.Owner != nil {
			owner, err := n.s.container.Owner(g.User)
			if err != nil {
				return // the launch says it
			}
			uid = owner.ID()
		}
		n.warmer.Begin(app, g.User)
		reading.Go(func() { // a disk may not answer, nor a NameNode
			in, err := n.warmer.Read(ctx, app, files, n.disks.Local.All(), uid)
			if err != nil {
				n.log.WithError(err).WithField("application", app.String()).Info("the input of the job is not read ahead")
				return
			}
			n.warmer.Learn(ctx, in)
			n.kick()
		})
	}
}
