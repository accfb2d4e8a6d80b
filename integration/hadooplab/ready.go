package hadooplab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"heddle/conf"
	"heddle/conf/caller"
	"heddle/conf/secure"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/sasl"
)

// errPortTaken says that another process uses a daemon's port.
var errPortTaken = errors.New("a port was taken by another process")

// pollInterval is the time between two checks.
const pollInterval = 50 * time.Millisecond

func (l *Lab) logFile(name string) string { return filepath.Join(l.dir, "log", name+".log") }

// poll calls ready until it returns nil, a daemon ends by itself, or ctx ends.
func (l *Lab) poll(ctx context.Context, what string, ready func(ctx context.Context) error) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		for _, d := range l.daemons {
			if !d.ended() {
				continue
			}
			cause := errors.New("it ended by itself")
			if log := d.Log(); strings.Contains(log, "java.net.BindException") || strings.Contains(log, "address already in use") {
				cause = errPortTaken
			}
			return fmt.Errorf("waiting for %s: %s: %w; end of its log:\n%s", what, d.name, cause, tail(d.log, 0, startLines))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last: %w", what, ctx.Err(), err)
		}
	}
}

// get fetches JSON from a daemon's web server.
// Get has the web service of a daemon answer with JSON.
func (l *Lab) Get(ctx context.Context, service, path string, into any) error {
	body, err := l.fetch(ctx, service, path, "application/json")
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

func (l *Lab) fetch(ctx context.Context, service, path, accept string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://localhost:%d%s", l.Port(service), path), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no connection may outlive the lab
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", req.URL, resp.Status)
	}
	return body, err
}

// nameNodeState is what a NameNode reports about itself.
type nameNodeState struct {
	HAState   string `json:"State"`
	FSState   string `json:"FSState"`
	LiveNodes int    `json:"NumLiveDataNodes"`
}

func (l *Lab) nameNode(ctx context.Context, name string) (nameNodeState, error) {
	var all nameNodeState
	for _, bean := range []string{"FSNamesystemState", "NameNodeStatus"} { // others are up to 10 s old
		var page struct{ Beans []json.RawMessage }
		if err := l.Get(ctx, name+"-http", "/jmx?qry=Hadoop:service=NameNode,name="+bean, &page); err != nil {
			return all, err
		}
		if len(page.Beans) == 0 {
			return all, fmt.Errorf("%s doesn't know its state yet", name)
		}
		if err := json.Unmarshal(page.Beans[0], &all); err != nil {
			return all, err
		}
	}
	return all, nil
}

// WaitHDFS waits until an active NameNode has left safe mode and has that many live DataNodes.
func (l *Lab) WaitHDFS(ctx context.Context, dataNodes int) error {
	return l.poll(ctx, "HDFS", func(ctx context.Context) error {
		err := errors.New("no NameNode")
		for i := 1; i <= l.options.NameNodes; i++ {
			name := daemonName("namenode", i, l.options.NameNodes)
			var s nameNodeState
			if s, err = l.nameNode(ctx, name); err == nil && s.HAState == "active" && s.FSState == "Operational" && s.LiveNodes >= dataNodes {
				return nil
			} else if err == nil {
				err = fmt.Errorf("%s is %s, %s, with %d DataNodes", name, s.HAState, s.FSState, s.LiveNodes)
			}
		}
		return err
	})
}

// waitAnswer waits until a NameNode answers, whether it is active or not.
func (l *Lab) waitAnswer(ctx context.Context, name string) error {
	return l.poll(ctx, name, func(ctx context.Context) error {
		_, err := l.nameNode(ctx, name)
		return err
	})
}

// WaitYARN waits until the ResourceManager answers and has that many running nodes.
func (l *Lab) WaitYARN(ctx context.Context, nodes int) error {
	client := ipc.NewClient(ipc.ClientConfig{
		ConnectTimeout: 5 * time.Second, CallTimeout: 5 * time.Second, Protection: sasl.Qualities{sasl.Privacy, sasl.Integrity, sasl.Authentication},
	})
	defer client.Close()
	var rms []string
	for i := 1; i <= l.options.ResourceManagers; i++ {
		rms = append(rms, fmt.Sprintf("localhost:%d", l.Port(fmt.Sprintf("rm%d", i))))
	}
	if len(rms) == 0 {
		rms = append(rms, fmt.Sprintf("localhost:%d", l.Port("rm")))
	}
	who, err := callerOf(l)
	if err != nil {
		return err
	}
	rm := client.Failover(rms, protocol.ApplicationClient, who, ipc.RetryPolicy{MaxElapsed: time.Second, Max: 100 * time.Millisecond})
	return l.poll(ctx, "YARN", func(ctx context.Context) error {
		m, err := protocol.GetClusterMetrics.Call(ctx, rm, &pb.GetClusterMetricsRequest{})
		if err != nil {
			return err
		}
		if n := m.GetClusterMetrics().GetNumActiveNms(); int(n) < nodes {
			return fmt.Errorf("%d nodes of %d are running", n, nodes)
		}
		return nil
	})
}

// callerOf returns the caller that asks whether YARN is ready: with Kerberos the owner of the tickets of $KRB5CCNAME.
func callerOf(l *Lab) (ipc.Identity, error) {
	if l.site[secure.Authentication] != "kerberos" {
		return ipc.Identity{User: "lab"}, nil
	}
	c, err := conf.Load(conf.Options{Dir: l.Conf()})
	if err != nil {
		return ipc.Identity{}, err
	}
	who, err := caller.Of(c)
	return who.Identity, err
}

func (l *Lab) waitHistory(ctx context.Context) error {
	return l.poll(ctx, "the history server", func(ctx context.Context) error {
		var page map[string]any
		return l.Get(ctx, "history-http", "/ws/v1/history/info", &page)
	})
}

func waitTimeline(ctx context.Context, l *Lab) error {
	return l.poll(ctx, "the timeline server", func(ctx context.Context) error {
		var about map[string]any
		return l.Get(ctx, "timeline-http", "/ws/v1/timeline/", &about)
	})
}
