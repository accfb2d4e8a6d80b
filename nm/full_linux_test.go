package nm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"heddle/internal/await"
	"heddle/nm/container"
	"heddle/nm/localizer"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// While a disk was full for two seconds, a hundred attempts failed on it one after the other: it was to be checked two minutes later. The first one that finds no
// room has the disks checked: the node says that it is ill, and the attempt doesn't count as the application's fault. The node is back soon after there is room.
func TestANodeWithoutRoomSaysSoAtOnce(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	for name, c := range map[string]struct {
		options  string // of the disk
		resource bool   // the container has one
		fill     func(t *testing.T, dir string)
	}{
		"for a resource":   {"size=32m", true, fillBytes},
		"for its script":   {"size=32m", false, fillBytes},
		"as inodes lack":   {"size=32m,nr_inodes=600", false, fillInodes},
		"for inodes of it": {"size=32m,nr_inodes=600", true, fillInodes},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			disk := filepath.Join(l.dir, "small")
			if err := os.Mkdir(disk, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "mode=0755,"+c.options); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
			l.set = append(l.set, "yarn.nodemanager.local-dirs="+disk+"/local", "yarn.nodemanager.disk-health-checker.enable=true",
				"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage=99") // the logs are on another disk
			l.up()
			healthy := func(what string, want bool) {
				l.rm.seen(what, func(beats []*pb.NodeHeartbeatRequest) bool {
					return beats[len(beats)-1].GetNodeStatus().GetNodeHealthStatus().GetIsNodeHealthy() == want
				})
			}
			run := func(n int64) container.Status {
				r := l.request(containerID(1, n), "true")
				if c.resource {
					file := filepath.Join(l.dir, fmt.Sprint("resource", n))
					if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
						t.Fatal(err)
					}
					info, err := os.Stat(file)
					if err != nil {
						t.Fatal(err)
					}
					m := &pb.StringLocalResourceMap{}
					m.SetKey("x")
					m.SetValue(fileResource(file, localizer.Application, info))
					r.GetContainerLaunchContext().SetLocalResources([]*pb.StringLocalResourceMap{m})
				}
				if resp, err := protocol.StartContainers.Call(t.Context(), l.as(containerID(1, n).Attempt), startRequest(r)); err != nil || len(resp.GetSucceededRequests()) != 1 {
					t.Fatalf("%v, %v", resp, err)
				}
				it, err := l.node.Containers().Container(containerID(1, n))
				if err != nil {
					t.Fatal(err)
				}
				await.Until(t, "the end", func() bool { return it.State() == container.Done })
				return it.Status()
			}
			if s := run(1); s.ExitCode != 0 {
				t.Fatalf("with room: exit code %d, %s", s.ExitCode, s.Diagnostics)
			}
			healthy("a healthy node", true)
			c.fill(t, disk)
			if s := run(2); s.ExitCode != records.ExitDisksFailed || !strings.Contains(s.Diagnostics, "Most of the disks failed. 1/1 local-dirs") {
				t.Errorf("without room: exit code %d, %s", s.ExitCode, s.Diagnostics)
			}
			healthy("that the node is ill", false)
			if err := os.RemoveAll(disk + "/filler"); err != nil {
				t.Fatal(err)
			}
			healthy("that the node is well again", true)
			if s := run(3); s.ExitCode != 0 {
				t.Errorf("with room again: exit code %d, %s", s.ExitCode, s.Diagnostics)
			}
		})
	}
}

func fillBytes(t *testing.T, dir string) {
	if err := os.Mkdir(dir+"/filler", 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(dir + "/filler/bytes")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if err.(*os.PathError).Err != syscall.ENOSPC {
		t.Fatal(err)
	}
}

func fillInodes(t *testing.T, dir string) {
	var err error
	for i := 0; err == nil; i++ {
		err = os.MkdirAll(filepath.Join(dir, "filler", strings.Repeat("x", i%200+1), strings.Repeat("y", i/200+1)), 0o755)
	}
	if err.(*os.PathError).Err != syscall.ENOSPC {
		t.Fatal(err)
	}
}
