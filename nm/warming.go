package nm

import (
	"context"
	"errors"
	"fmt"
	"sync"

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
		n.log.Infof("Nothing is read ahead of maps (%senabled): fs.defaultFS is %s, and not HDFS", prefix, root)
		return nil
	}
	n.warmer = warming.New(warming.Config{
		Window: int64(c.Int(prefix+"window-mb")) << 20, Rate: int64(c.Int(prefix+"mb-per-second")) << 20, Readers: c.Int(prefix + "readers"),
		Open: func(ctx context.Context, user, file string) (warming.File, error) {
			if user == "" { // which would be the NodeManager's own
				return nil, errors.New("the order names no user")
			}
			at, err := files.As(user).Locate(file)
			if err != nil {
				return nil, err
			}
			if at.Scheme != root.Scheme || at.Authority != root.Authority {
				return nil, fmt.Errorf("%s is not on %s", at, root)
			}
			return files.As(user).OpenHere(ctx, at.String())
		},
		Log: n.log,
	})
	for _, m := range n.warmer.Collectors() {
		if err := n.metrics.Register(m); err != nil {
			return err
		}
	}
	return nil
}

// localized returns who learns of ApplicationMasters' resources what jobs will read; nil if nobody does.
func (n *NodeManager) localized() func(allocation.Grant, map[string]string) {
	if n.warmer == nil {
		return nil
	}
	var reading sync.WaitGroup
	n.closing(func() { within.Wait(&reading, n.s.disks.Patience) })
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
		reading.Go(func() { // a disk may not answer
			in, err := warming.ReadJob(app, files, n.disks.Local.All(), uid)
			if err != nil {
				n.log.WithError(err).WithField("app", app.String()).Info("The input of the job is not read ahead")
				return
			}
			n.warmer.Learn(in)
			n.kick()
		})
	}
}
