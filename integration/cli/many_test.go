package cli

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/am"
	"heddle/am/client"
	"heddle/integration/daemons"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/nm/nmtest"
	"heddle/yarn/records"
)

// standing counts the groups of these containers that the kernel has frozen, on whatever groups this machine has. Other clusters have containers
// of their own beside them.
func standing(t *testing.T, of []records.ContainerID) (n int) {
	t.Helper()
	ours := make(map[string]bool, len(of))
	for _, id := range of {
		ours[id.String()] = true
	}
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || !ours[d.Name()] {
			return nil // a group that has just gone doesn't stand still
		}
		if daemons.Frozen(path) {
			n++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The ResourceManager suspends 200 containers of a node and knows of each, whatever groups this machine has; in the virtual machine they are
// cgroups v2. Each resumes by itself, and none of the others with it. In the end all run, and none has ended.
func TestTwoHundredAreSuspended(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	nmtest.RealGroups(t)
	const many = 200
	a := newAlone(t, map[string]string{
		"yarn.nodemanager.resource.memory-mb": "16384", "yarn.nodemanager.resource.cpu-vcores": "256",
		"yarn.scheduler.minimum-allocation-mb": "64", "yarn.scheduler.capacity.maximum-am-resource-percent": "1",
	})
	await.Slowly(t, "the ledger records levels", func() bool {
		said, err := os.ReadFile(filepath.Join(a.dir, "log"))
		return err == nil && strings.Contains(string(said), "can apply a newer version of the ledger")
	})
	m := a.master()
	must2(m.Request(am.Request{Resource: records.NewResource(64, 1), Count: many}))
	var ids []records.ContainerID
	m.heard("200 containers", func(got *client.Allocation) bool {
		for i := range got.Containers {
			c := &got.Containers[i]
			must2(m.nodes.Start(t.Context(), c, must2(am.Launch{Command: []string{"exec sleep 3600"}}.PB())))
			ids = append(ids, c.ID)
		}
		return len(ids) == many
	})
	control := func(id records.ContainerID, verb string) {
		t.Helper()
		await.Slowly(t, verb+" "+id.String(), func() bool { // it may not run yet
			resp, err := http.Post("http://"+a.web+"/ws/v1/heddle/containers/"+id.String()+"/"+verb+"?user.name=root&level=frozen&breathe=never", "application/json", nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close() // only the status counts
			return resp.StatusCode == http.StatusOK
		})
	}
	listed := func() int {
		var answer struct {
			Containers struct{ Container []json.RawMessage }
		}
		text := a.get("/ws/v1/heddle/containers?suspended=true&user.name=root")
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return len(answer.Containers.Container)
	}
	agree := func(n int) {
		t.Helper()
		await.Slowly(t, fmt.Sprintf("%d stand still", n), func() bool { return listed() == n && standing(t, ids) == n })
	}
	for _, id := range ids {
		control(id, "suspend")
	}
	agree(many)
	for i := range 8 {
		control(ids[i*many/8], "resume")
		agree(many - 1 - i)
	}
	for i, id := range ids {
		if i%(many/8) != 0 {
			control(id, "resume")
		}
	}
	agree(0)
	m.heard("all are alive", func(got *client.Allocation) bool {
		for _, s := range got.Completed {
			t.Errorf("a container has ended: %+v", s)
		}
		return true
	})
	m.Release(ids...)
	m.heard("all are gone", func(*client.Allocation) bool { return standing(t, ids) == 0 })
}
