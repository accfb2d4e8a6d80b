package am_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"heddle/am"
	"heddle/am/client"
	"heddle/conf"
	"heddle/integration/hadooplab"
	"heddle/integration/minicluster"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// An ApplicationMaster of ours on a stock Hadoop: requests with and without locality at one priority, containers that
// succeed, fail, are stopped and released, on a real NodeManager.
func TestOnStockYARN(t *testing.T) {
	lab := hadooplab.Start(t, hadooplab.Options{ResourceManager: true, NodeManagers: 1})
	c, err := conf.Load(conf.Options{Dir: lab.Conf()})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := client.NewCluster(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	apps, err := cluster.Applications("")
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := apps.NodeReports(t.Context())
	if err != nil || len(nodes) != 1 {
		t.Fatalf("nodes %v, %v", nodes, err)
	}
	host := nodes[0].GetNodeId().GetHost()
	out := filepath.Join(t.TempDir(), "out")

	m := unmanaged(t, apps, func(o *am.Options) { o.Conf = c }, func(ctx context.Context, m *am.Master) error {
		if m.Registration().Holds {
			t.Error("a stock ResourceManager is taken for one of ours")
		}
		requests := map[am.RequestID]string{}
		for _, r := range []struct {
			what string
			am.Request
		}{
			{"write", am.Request{Resource: records.NewResource(256, 1), Hosts: []string{host}}},
			{"write", am.Request{Resource: records.NewResource(256, 1), Hosts: []string{host, "elsewhere"}, RelaxLocality: true, Count: 2}},
			{"write", am.Request{Resource: records.NewResource(512, 1), Racks: []string{nodes[0].GetRackName()}, RelaxLocality: true}},
			{"fail", am.Request{Resource: records.NewResource(256, 1), Priority: 3}},
			{"stop", am.Request{Resource: records.NewResource(256, 1), Priority: 4}},
			{"release", am.Request{Resource: records.NewResource(256, 1), Priority: 5}},
		} {
			id, err := m.Request(r.Request)
			if err != nil {
				return err
			}
			requests[id] = r.what
		}
		commands := map[string]string{"write": "echo $CONTAINER_ID $GREETING >> " + out, "fail": "exit 3", "stop": "sleep 1000", "release": "sleep 1000"}
		exits := map[string][]int32{}
		done := 0
		s := &story{t, map[records.ContainerID]string{}}
		for e := range m.Events() {
			s.take(e)
			switch e := e.(type) {
			case am.ContainersAllocated:
				for _, c := range e.Containers {
					m.Start(c.ID, am.Launch{
						Command: []string{commands[requests[c.Request]]}, Env: map[string]string{"GREETING": "hello"},
					})
				}
			case am.ContainerStarted:
				switch requests[e.Container.Request] {
				case "stop":
					m.Stop(e.Container.ID)
				case "release":
					m.Release(e.Container.ID)
				}
			case am.ContainerCompleted:
				what := requests[e.Container.Request]
				exits[what] = append(exits[what], e.ExitStatus)
				if done++; done == 7 {
					want := map[string][]int32{"write": {0, 0, 0, 0}, "fail": {3}, "stop": {records.ExitKilledByAppMaster}, "release": {records.ExitAborted}}
					if fmt.Sprint(exits) != fmt.Sprint(want) {
						t.Errorf("exit statuses %v, want %v", exits, want)
					}
					return nil
				}
			case am.RequestsRefused:
				return e.Err
			case am.Error:
				return e.Err
			}
		}
		return ctx.Err()
	})
	if r, err := apps.Wait(t.Context(), m, nil); err != nil || !r.Succeeded() {
		t.Errorf("%+v, %v", r, err)
	}
	if b, err := os.ReadFile(out); err != nil || countLines(b) != 4 {
		t.Errorf("containers wrote %q, %v", b, err)
	}
}

func countLines(b []byte) (n int) {
	for _, c := range b {
		if c == '\n' {
			n++
		}
	}
	return n
}

// unmanaged runs an ApplicationMaster in this process, and returns its application.
func unmanaged(
	t *testing.T, apps *client.Applications, adjust func(*am.Options), main func(context.Context, *am.Master) error,
) records.ApplicationID {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	id, _, err := apps.New(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := apps.Submit(ctx, client.Submission{ID: id, Name: "unmanaged", Unmanaged: true, Resource: small}); err != nil {
		t.Fatal(err)
	}
	attempt, tok, err := apps.MasterToken(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	creds := &token.Credentials{}
	creds.SetToken("", tok)
	o := am.Options{
		Credentials: creds, Host: "localhost", Log: minicluster.Log(t),
		Getenv: func(name string) (string, bool) {
			if name == "CONTAINER_ID" {
				return records.ContainerID{Attempt: attempt, ID: 1}.String(), true
			}
			return "", false
		},
	}
	adjust(&o)
	if err := am.Run(ctx, o, main); err != nil {
		t.Errorf("the ApplicationMaster: %v", err)
	}
	return id
}
