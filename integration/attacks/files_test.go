package attacks

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"heddle/internal/await"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

func containerName(c *pb.Container) string { return records.ContainerIDFrom(c.GetId()).String() }

// resource is a file of this machine, as a user asks for it.
func resource(path string, v pb.LocalResourceVisibility) *pb.LocalResource {
	u := &pb.URL{}
	u.SetScheme("file")
	u.SetFile(path)
	r := &pb.LocalResource{}
	r.SetResource(u)
	r.SetType(pb.LocalResourceType_FILE)
	r.SetVisibility(v)
	if info, err := os.Stat(path); err == nil {
		r.SetSize(info.Size())
		r.SetTimestamp(info.ModTime().UnixMilli())
	}
	return r
}

// foreignResources are files that a user may not read and asks his node to fetch.
func (x *target) foreignResources() {
	link := filepath.Join(x.Dir(), "work", "link")
	if err := os.Symlink(x.secret, link); err != nil {
		x.t.Fatal(err)
	}
	m := x.unmanaged(hostile)
	box := m.container()
	whoami := filepath.Join(x.Dir(), "work", "whoami")
	must(x, protocol.StartContainers, m.Node(box), launch(box, nil, "id -un > "+whoami))
	m.ended(box)
	if raw, err := os.ReadFile(whoami); err != nil || strings.TrimSpace(string(raw)) != hostile {
		x.t.Fatalf("the container of %s runs as %q, %v: nothing would be proven", hostile, raw, err)
	}
	paths := []string{x.secret, link, filepath.Dir(x.secret), filepath.Join(x.Dir(), "cluster-secret"), "/etc/shadow"}
	for fd := range 12 {
		paths = append(paths, fmt.Sprintf("/proc/self/fd/%d", fd))
	}
	for _, path := range paths {
		for _, v := range []pb.LocalResourceVisibility{pb.LocalResourceVisibility_PUBLIC, pb.LocalResourceVisibility_PRIVATE, pb.LocalResourceVisibility_APPLICATION} {
			if strings.HasPrefix(path, "/proc") && v != pb.LocalResourceVisibility_PUBLIC {
				continue
			}
			box := m.container()
			stolen := filepath.Join(x.Dir(), "work", "stolen-"+containerName(box))
			resp, err := protocol.StartContainers.Call(x.t.Context(), m.Node(box), launch(box, map[string]*pb.LocalResource{"loot": resource(path, v)}, "cat loot loot/* > "+stolen+"; exit 0"))
			if err != nil || len(resp.GetFailedRequests()) > 0 {
				continue // it was refused at once
			}
			if s := m.ended(box); s.GetExitStatus() == 0 && !strings.HasPrefix(path, "/proc") {
				x.t.Errorf("a node fetches %s as %v for %s", path, v, hostile)
			}
			if raw, err := os.ReadFile(stolen); err == nil && len(raw) > 0 && !strings.HasPrefix(path, "/proc") {
				x.t.Errorf("%s has read %s as %v: %.60q", hostile, path, v, raw)
			}
		}
	}
	x.nothingLeaked()
}

// nothingLeaked looks whether any file of a node that others may read holds root's secret.
func (x *target) nothingLeaked() {
	for _, name := range x.NodeManagers {
		_ = filepath.WalkDir(filepath.Join(x.Home(name), "local"), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			if raw, err := os.ReadFile(path); err == nil && len(raw) < 1<<20 && (strings.Contains(string(raw), secretText) || strings.Contains(string(raw), "daemons of this cluster share")) {
				x.t.Errorf("%s holds root's secret", path)
			}
			return nil
		})
	}
}

// workFolderLinks are links that a container puts where its node, as root, makes, links, changes and removes files.
func (x *target) workFolderLinks() {
	victim := filepath.Join(x.Dir(), "victim")
	keep := filepath.Join(victim, "keep")
	write(x.t, keep, "root's", 0o600)
	public := filepath.Join(x.Dir(), "work", "public")
	write(x.t, public, "public", 0o644)
	before := stat(x, victim)

	m := x.unmanaged(hostile)
	box := m.container()
	ready := filepath.Join(x.Dir(), "work", "ready")
	// the work folder itself becomes a link, and all that is in it
	script := fmt.Sprintf(`d=$PWD; cd /; mv $d $d.old && ln -s %[1]s $d; for l in $(echo $LOG_DIRS | tr , ' '); do mv $l $l.old; ln -s %[1]s $l; done; touch %[2]s; exec sleep 1000`, victim, ready)
	must(x, protocol.StartContainers, m.Node(box), launch(box, nil, script))
	await.Slowly(x.t, "the container has put its links", func() bool {
		_, err := os.Stat(ready)
		return err == nil
	})
	req := &pb.ResourceLocalizationRequest{}
	req.SetContainerId(box.GetId())
	var list []*pb.StringLocalResourceMap
	for i := range 5 {
		e := &pb.StringLocalResourceMap{}
		e.SetKey(fmt.Sprintf("planted%d", i))
		e.SetValue(resource(public, pb.LocalResourceVisibility_APPLICATION))
		list = append(list, e)
	}
	req.SetLocalResources(list)
	_, _ = protocol.Localize.Call(x.t.Context(), m.Node(box), req) // what counts is what it leaves
	stop := &pb.StopContainersRequest{}
	stop.SetContainerId([]*pb.ContainerId{box.GetId()})
	must(x, protocol.StopContainers, m.Node(box), stop)
	m.ended(box)
	m.kill()
	await.Slowly(x.t, "the application's folders are removed", func() bool {
		left, err := filepath.Glob(filepath.Join(x.Dir(), "nm*", "local", "usercache", hostile, "appcache", m.id.String()))
		return err == nil && len(left) == 0
	})
	if raw, err := os.ReadFile(keep); err != nil || string(raw) != "root's" {
		x.t.Errorf("root's file: %q, %v", raw, err)
	}
	if left, err := os.ReadDir(victim); err != nil || len(left) != 1 {
		x.t.Errorf("root's folder holds %v, %v", left, err)
	}
	if after := stat(x, victim); after != before {
		x.t.Errorf("root's folder was owned and open as %v, and is as %v now", before, after)
	}
}

type owner struct {
	uid  uint32
	mode uint32
}

func stat(x *target, path string) owner {
	x.t.Helper()
	var s syscall.Stat_t
	if err := syscall.Stat(path, &s); err != nil {
		x.t.Fatal(err)
	}
	return owner{s.Uid, s.Mode}
}
