package nm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"heddle/conf"
	"heddle/hdfsadapter"
	"heddle/internal/trust"
	"heddle/nm/cgroup"
	"heddle/nm/ramdisk"
	"heddle/nm/shorttasks"
)

// stager copies inputs of short tasks from HDFS to the node's RAM disk.
type stager struct {
	n      *NodeManager
	files  *hdfsadapter.Adapter
	root   hdfsadapter.Location
	disk   *ramdisk.Disk
	copied atomic.Int64 // bytes

	mu sync.Mutex
	of map[string]version // what was copied, by the copy's path
}

// version identifies the content of a file of one block: each change of the content changes one of these.
type version struct {
	block, stamp uint64
	size         int64
}

// stagingGroup is the memory group of the helpers and of what they have written.
const stagingGroup = "ramdisk"

// helpersMemory bounds the memory of the helpers, without what is on the disk.
const helpersMemory = 512 << 20

// openStager makes what stages inputs. Where it can't be, tasks read from HDFS, and the log says why. Remains of an earlier life go in any case.
func (n *NodeManager) openStager(binary string) (shorttasks.Stager, error) {
	const key = "heddle.nodemanager.staging."
	dir := filepath.Join(n.disks.Local.All()[0], "ramdisk")
	if err := ramdisk.Clear(dir); err != nil {
		n.log.WithError(err).Warnf("what an earlier NodeManager has preloaded into %s stays, and no input is preloaded", dir)
		return nil, nil
	}
	if !n.o.Conf.Bool(key + "enabled") {
		return nil, nil
	}
	s, err := n.newStager(binary, dir, int64(n.o.Conf.Int(key+"size-mb"))<<20)
	if err != nil {
		n.log.WithError(err).Warnf("no input is preloaded (%senabled), and short tasks read from HDFS", key)
		return nil, nil
	}
	return s, n.metrics.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Namespace: "heddle", Subsystem: "nm", Name: "staged_bytes_total", Help: "Bytes of short tasks' inputs that were copied to the RAM disk.",
	}, func() float64 { return float64(s.copied.Load()) }))
}

func (n *NodeManager) newStager(binary, dir string, size int64) (*stager, error) {
	if !n.groups.Capabilities().MemoryLimit {
		return nil, fmt.Errorf("cgroups of kind %s have no memory groups, so copies would be charged to the NodeManager", n.groups.Kind())
	}
	if err := ownNames(n.o.Conf); err != nil {
		return nil, err
	}
	if err := trust.Check(dir); err != nil {
		return nil, err
	}
	files, err := n.hdfs()
	if err != nil {
		return nil, err
	}
	n.closing(func() { files.Close() })
	root, err := files.As("").Locate("/")
	if err != nil {
		return nil, err
	}
	if root.Scheme != hdfsadapter.SchemeHDFS {
		return nil, fmt.Errorf("fs.defaultFS is %s, and not HDFS", root)
	}
	group, err := n.groups.Create(stagingGroup, cgroup.Limits{Memory: size + helpersMemory})
	if err != nil {
		return nil, err
	}
	n.closing(func() { n.leaveGroup(group) })
	disk, err := ramdisk.Open(ramdisk.Config{Dir: dir, Size: size, Helper: []string{binary, "stager"}, Join: group.Add})
	if err != nil {
		return nil, err
	}
	n.closing(func() {
		if err := disk.Close(); err != nil {
			n.log.WithError(err).Warn("could not unmount the RAM disk")
		}
	})
	return &stager{n: n, files: files, root: root, disk: disk, of: map[string]version{}}, nil
}

// ownNames fails if tasks may read other files than the NameNode's by the same names, as Hadoop's clients do by a table of mounts (ViewFileSystemOverloadScheme).
func ownNames(c *conf.Config) error {
	const key = "fs.hdfs.impl"
	if class, ok := c.Get(key); ok && class != "" && class != "org.apache.hadoop.hdfs.DistributedFileSystem" {
		return fmt.Errorf("%s is %s, by which names of HDFS may lead elsewhere", key, class)
	}
	return nil
}

// leaveGroup removes the group of the helpers.
func (n *NodeManager) leaveGroup(g cgroup.Group) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := g.Kill(ctx)
	if err == nil {
		err = g.Destroy(ctx)
	}
	if err != nil {
		n.log.WithError(err).Warn("could not remove the memory group of the RAM disk")
	}
}

// Capacity implements shorttasks.Stager.
func (s *stager) Capacity() int64 { return s.disk.Size() }

const textOfZone = "%s is in an encryption zone: its text isn't copied"

// Look implements shorttasks.Stager.
func (s *stager) Look(ctx context.Context, who shorttasks.Reader, file string) (int64, error) {
	as, at, err := s.locate(who, file)
	if err != nil {
		return 0, err
	}
	info, err := as.Stat(ctx, at)
	if err != nil {
		return 0, err
	}
	switch {
	case info.IsDir():
		return 0, fmt.Errorf("%s is a folder", at)
	case info.Encrypted:
		return 0, fmt.Errorf(textOfZone, at)
	case info.Size == 0:
		return 0, fmt.Errorf("%s is empty", at)
	case info.Size > info.BlockSize:
		return 0, fmt.Errorf("%s has more than one block", at)
	}
	return ramdisk.Room(info.Size), nil
}

// locate finds a file, and who reads it.
func (s *stager) locate(who shorttasks.Reader, file string) (as *hdfsadapter.FS, at string, err error) {
	if who.User == "" { // which would be the NodeManager's own
		return nil, "", fmt.Errorf("%s: no task reads it", file)
	}
	as = usersView(s.n, s.files, who.User, who.Tokens...)
	l, err := as.Locate(file)
	if err != nil {
		return nil, "", err
	}
	if l.Scheme != s.root.Scheme || l.Authority != s.root.Authority {
		return nil, "", fmt.Errorf("%s is not on %s", l, s.root)
	}
	return as, l.String(), nil
}

// Preload implements shorttasks.Stager. hdfsadapter verifies checksums, and refuses files that are erasure coded.
func (s *stager) Preload(ctx context.Context, who shorttasks.Reader, file string, size int64) (string, func(), error) {
	uid := os.Geteuid()
	if s.n.s.container.Owner != nil {
		owner, err := s.n.s.container.Owner(who.User)
		if err != nil {
			return "", nil, err
		}
		if owner != nil {
			uid = owner.UID
		}
	}
	as, at, err := s.locate(who, file)
	if err != nil {
		return "", nil, err
	}
	was, err := s.version(ctx, as, at, size)
	if err != nil {
		return "", nil, err
	}
	r, err := as.Open(ctx, at)
	if err != nil {
		return "", nil, err
	}
	defer r.Close()
	if r.Info().Encrypted {
		return "", nil, fmt.Errorf(textOfZone, at)
	}
	if n := r.Info().Size; ramdisk.Room(n) != size || n != was.size {
		return "", nil, fmt.Errorf("%s has %d bytes now, and had others before", at, n)
	}
	path, free, err := s.disk.Copy(ctx, uid, r, was.size)
	if err != nil {
		return "", nil, err
	}
	now, err := s.version(ctx, as, at, size)
	if err == nil && now != was {
		err = fmt.Errorf("%s has changed while it was copied", at)
	}
	if err != nil {
		free()
		return "", nil, err
	}
	s.copied.Add(was.size)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[path] = was
	return path, func() {
		s.mu.Lock()
		delete(s.of, path)
		s.mu.Unlock()
		free()
	}, nil
}

// version asks for that of a file of at most so many bytes. Only a user who may read the file is told.
func (s *stager) version(ctx context.Context, as *hdfsadapter.FS, at string, size int64) (version, error) {
	blocks, err := as.Blocks(ctx, at, 0, size+1)
	if err != nil {
		return version{}, err
	}
	if len(blocks) != 1 {
		return version{}, fmt.Errorf("%s has %d blocks within %d bytes", at, len(blocks), size+1)
	}
	if blocks[0].Open { // its readers may see more than the NameNode knows of
		return version{}, fmt.Errorf("%s is being written", at)
	}
	return version{blocks[0].ID, blocks[0].Stamp, blocks[0].Length}, nil
}

// Current implements shorttasks.Stager.
func (s *stager) Current(ctx context.Context, who shorttasks.Reader, file, path string) error {
	if !s.disk.Has(path) {
		return fmt.Errorf("the copy %s is gone", path)
	}
	as, at, err := s.locate(who, file)
	if err != nil {
		return err
	}
	s.mu.Lock()
	was := s.of[path]
	s.mu.Unlock()
	now, err := s.version(ctx, as, at, ramdisk.Room(was.size))
	if err == nil && now != was {
		err = fmt.Errorf("%s has changed since it was copied", at)
	}
	return err
}
