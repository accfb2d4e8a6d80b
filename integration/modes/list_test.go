package modes

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"heddle/internal/userfiles"
	"heddle/yarn/pb"
)

// resources returns a file and an archive for each visibility.
func resources(t *testing.T, dir string) (out []*pb.StringLocalResourceMap) {
	t.Helper()
	for name, v := range map[string]pb.LocalResourceVisibility{
		"public": pb.LocalResourceVisibility_PUBLIC, "private": pb.LocalResourceVisibility_PRIVATE, "own": pb.LocalResourceVisibility_APPLICATION,
	} {
		plain, packed := filepath.Join(dir, name+".txt"), filepath.Join(dir, name+".zip")
		if err := os.WriteFile(plain, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
		pack(t, packed)
		for path, kind := range map[string]pb.LocalResourceType{plain: pb.LocalResourceType_FILE, packed: pb.LocalResourceType_ARCHIVE} {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			u, r, m := &pb.URL{}, &pb.LocalResource{}, &pb.StringLocalResourceMap{}
			u.SetScheme("file")
			u.SetFile(path)
			r.SetResource(u)
			r.SetType(kind)
			r.SetVisibility(v)
			r.SetSize(info.Size())
			r.SetTimestamp(info.ModTime().UnixMilli())
			m.SetKey(filepath.Base(path))
			m.SetValue(r)
			out = append(out, m)
		}
	}
	return out
}

func pack(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, name := range []string{"file", "folder/inside"} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// names replaces what differs between two runs: ids, and the numbers of places in a cache.
var names = []struct {
	is     *regexp.Regexp
	become string
}{
	{regexp.MustCompile(`container_[0-9_]+`), "CONTAINER"},
	{regexp.MustCompile(`application_[0-9_]+`), "APPLICATION"},
	{regexp.MustCompile(`/filecache/\d+`), "/filecache/N"},
	{regexp.MustCompile(`/usercache/(` + submitter + `|root)`), "/usercache/USER"},
}

// list describes each file and folder below a node's folders, sorted by path: its mode, owner and group. What only the
// NodeManager can enter isn't looked into.
func list(t *testing.T, home string) (out []string) {
	t.Helper()
	uids, gids := map[uint32]string{0: "node"}, map[uint32]string{0: "root"}
	u, err := user.Lookup(submitter)
	if err != nil {
		t.Fatal(err)
	}
	g, err := user.LookupGroup(nodeGroup)
	if err != nil {
		t.Fatal(err)
	}
	uids[id(t, u.Uid)], gids[id(t, u.Gid)], gids[id(t, g.Gid)] = "user", "user", "node"
	err = filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == home {
			return err
		}
		name := strings.TrimPrefix(path, home)
		for _, n := range names {
			name = n.is.ReplaceAllString(name, n.become)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		kind := map[fs.FileMode]string{0: "file", fs.ModeDir: "folder", fs.ModeSymlink: "link"}[info.Mode().Type()]
		out = append(out, fmt.Sprintf("%s %s %04o %s:%s", name, kind, st.Mode&0o7777, uids[st.Uid], gids[st.Gid]))
		if name == "/local/nmPrivate" {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// one returns the only file that a pattern matches below a folder.
func one(t *testing.T, home, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(home, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

// strangers checks that other users of the submitter's group reach nothing of the container's, and that members of the
// node's group can read its logs, but neither its credentials nor its script.
func strangers(t *testing.T, home string) {
	t.Helper()
	const somebody = 54321
	u, err := user.Lookup(submitter)
	if err != nil {
		t.Fatal(err)
	}
	g, err := user.LookupGroup(nodeGroup)
	if err != nil {
		t.Fatal(err)
	}
	colleague := &userfiles.User{UID: somebody, GID: int(id(t, u.Gid)), Groups: []int{int(id(t, u.Gid))}}
	shipper := &userfiles.User{UID: somebody, GID: somebody, Groups: []int{int(id(t, g.Gid))}}
	const work, logs = "local/usercache/*/appcache/*/container_*/", "log/*/container_*/"
	for _, pattern := range []string{
		work + "launch_container.sh", work + "container_tokens", work + "made", logs + "stderr", logs + "syslog", logs + "launch_container.sh",
		"local/usercache/*/filecache/*/private.txt", "local/usercache/*/appcache/*/filecache/*/own.txt",
	} {
		path := one(t, home, pattern)
		read := func() error {
			_, err := os.ReadFile(path)
			return err
		}
		if err := userfiles.As(colleague, read); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("another user of the group reads %s: %v", path, err)
		}
		err := userfiles.As(shipper, read)
		if strings.HasPrefix(pattern, logs) && err != nil {
			t.Errorf("the node's group can't read %s: %v", path, err)
		} else if !strings.HasPrefix(pattern, logs) && !errors.Is(err, fs.ErrPermission) && !strings.HasSuffix(pattern, "made") {
			t.Errorf("the node's group reads %s: %v", path, err)
		}
	}
}

func id(t *testing.T, number string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}
