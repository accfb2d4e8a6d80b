package rest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"heddle/am"
	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/internal/await"
	"heddle/rm"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// member asks one of several ResourceManagers.
func member(t *testing.T, c *minicluster.Cluster, i int, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+c.Conf.Text(rm.WebAddress+"."+c.Conf.RMIDs()[i])+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The receipt of an application that has ended is the same bytes when the leader has fallen, and after a restart of all.
func TestReceiptsOutliveLeadersAndRestarts(t *testing.T) {
	c := minicluster.Start(t, 3, nil)
	c.Node(minicluster.NodeOptions{Run: func(ctx context.Context, x minicluster.Container) int { return works(ctx, t, c, x) }})
	cluster, err := client.NewCluster(c.Conf, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	apps, err := cluster.Applications("alice")
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := apps.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := apps.Submit(t.Context(), client.Submission{ID: id, Name: "job", Queue: "default", Resource: records.NewResource(512, 1)}); err != nil {
		t.Fatal(err)
	}
	if r, err := apps.Wait(t.Context(), id, nil); err != nil || !r.Succeeded() {
		t.Fatalf("%v, %v", r.State, err)
	}
	path := "/ws/v1/heddle/apps/" + id.String() + "/receipt"
	leader := c.Leader()
	before := ""
	var answer struct {
		Receipt struct {
			State          string
			TotalMS        int64
			ContainersLive int
			Step           []struct{ Kind, ContainerID string }
		}
	}
	await.Slowly(t, "nodes have told of all containers' ends", func() bool {
		before, answer.Receipt.ContainersLive = member(t, c, leader, path), 0
		if err := json.Unmarshal([]byte(before), &answer); err != nil {
			t.Fatal(err)
		}
		return answer.Receipt.ContainersLive == 0
	})
	containers := map[string]bool{}
	for _, s := range answer.Receipt.Step {
		containers[s.ContainerID] = true
	}
	if r := answer.Receipt; r.State != "FINISHED" || r.TotalMS <= 0 || len(containers) < 2 {
		t.Fatalf("%s", before)
	}
	c.StopRM(leader)
	if after := member(t, c, c.Leader(), path); after != before {
		t.Errorf("the next leader has\n%s\nand the one before had\n%s", after, before)
	}
	for i := range c.Conf.RMIDs() {
		if i != leader {
			c.StopRM(i)
		}
	}
	for i := range c.Conf.RMIDs() {
		c.StartRM(i)
	}
	if after := member(t, c, c.Leader(), path); after != before {
		t.Errorf("after a restart of all there is\n%s\nand there was\n%s", after, before)
	}
}

// works is a task, or an ApplicationMaster that runs one.
func works(ctx context.Context, t *testing.T, c *minicluster.Cluster, x minicluster.Container) int {
	if x.ID.Sequence() != 1 {
		return 0
	}
	creds, err := token.DecodeCredentials(x.Launch.GetTokens())
	if err != nil {
		t.Error(err)
		return 1
	}
	o := am.Options{Conf: c.Conf, Credentials: creds, Host: "amhost", Log: minicluster.Log(t), Getenv: func(name string) (string, bool) {
		if name == "CONTAINER_ID" {
			return x.ID.String(), true
		}
		return x.Env(name)
	}}
	if err := am.Run(ctx, o, func(_ context.Context, m *am.Master) error {
		if _, err := m.Request(am.Request{Priority: 1, Resource: records.NewResource(512, 1), Count: 1}); err != nil {
			return err
		}
		for e := range m.Events() {
			switch e := e.(type) {
			case am.ContainersAllocated:
				for _, c := range e.Containers {
					m.Start(c.ID, am.Launch{Command: []string{"task"}})
				}
			case am.ContainerCompleted:
				return nil
			}
		}
		return nil
	}); err != nil {
		t.Logf("%v: %v", x.ID, err)
		return 1
	}
	return 0
}
