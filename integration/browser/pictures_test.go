package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"heddle/am/client"
	"heddle/integration/load"
	"heddle/integration/minicluster"
	"heddle/internal/ports"
	"heddle/rm"
	"heddle/rm/leader/nodelabels"
	"heddle/yarn/records"
)

// pictures are those of the documents: of pages, in a window of 1,400 pixels.
var pictures = []struct {
	name, path, theme string
	height            int
	drawn             string // is true once the page is
}{
	{"overview", "/cluster/overview?span=1h", "light", 900, `document.querySelector("#use canvas") && document.querySelector(".news li")`},
	{"overview-dark", "/cluster/overview?span=1h", "dark", 900, `document.querySelector("#use canvas") && document.querySelector(".news li")`},
	{"waiting", "/cluster/waiting", "light", 500, `document.querySelector("table tbody tr")`},
	{"queues", "/cluster/scheduler", "light", 800, `document.body.textContent.includes("root.adhoc")`},
	{"nodes", "/cluster/nodes/map", "light", 500, `document.querySelector("#nodes-map canvas")?.style.height`},
	{"labels", "/cluster/nodelabels", "light", 800, `document.querySelector("#shares-gpu tbody tr")`},
	{"node", "/cluster/node/NODE", "light", 1200, `document.querySelector("#ran canvas")?.style.height && document.querySelector("dl") && document.body.textContent.includes("Pressure")`},
}

// TestPictures draws the pictures of the documents from a cluster under load, so that they can't be old: make screenshots sets HEDDLE_PICTURES to their folder, and
// the load then lasts until the curves have a shape. Without it each page must have something on it.
func TestPictures(t *testing.T) {
	folder, lasts := os.Getenv("HEDDLE_PICTURES"), time.Second
	if folder != "" {
		lasts = 4 * time.Minute
	}
	const queues = "yarn.scheduler.capacity.root."
	c := minicluster.Start(t, 1, map[string]string{
		queues + "queues": "prod,dev,adhoc,train", queues + "prod.capacity": "50", queues + "dev.capacity": "30", queues + "adhoc.capacity": "20", queues + "adhoc.maximum-capacity": "40",
		queues + "prod.user-limit-factor": "4", queues + "dev.user-limit-factor": "4", queues + "adhoc.user-limit-factor": "4",
		"yarn.node-labels.enabled": "true", queues + "accessible-node-labels.gpu.capacity": "100", queues + "prod.accessible-node-labels": "gpu", queues + "prod.accessible-node-labels.gpu.capacity": "30",
		queues + "train.accessible-node-labels": "gpu", queues + "train.accessible-node-labels.gpu.capacity": "70", queues + "train.default-node-label-expression": "gpu", queues + "train.capacity": "0", queues + "train.user-limit-factor": "4", queues + "train.maximum-am-resource-percent": "1",
	})
	node := ""
	if folder != "" {
		node = pictureNode(t, c)
	}
	ctx, end := context.WithCancel(t.Context())
	var loads sync.WaitGroup
	defer loads.Wait()
	defer end()
	for _, x := range []struct {
		user, queue string
		nodes       int
		rate        float64
		after       time.Duration
	}{{"reports", "prod", 48, 4, 0}, {"ann", "dev", 24, 2.5, lasts / 6}, {"bob", "adhoc", 24, 1.5, lasts / 3}} {
		o := load.Options{
			User: x.user, Queue: x.queue, Nodes: x.nodes, NodeResource: records.NewResource(4096, 4), Heartbeat: time.Second, Masters: 2,
			Container: records.NewResource(1024, 1), Rate: x.rate, Hold: 20 * time.Second, Duration: time.Hour, Outstanding: 1,
		}
		if err := o.Address(c.Conf); err != nil {
			t.Fatal(err)
		}
		loads.Go(func() {
			if !within(ctx, x.after) {
				return
			}
			if _, err := load.Run(ctx, o); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	_, apps := alice(t, c)
	submit(t, apps, client.Submission{Name: "nightly", Queue: "prod", Resource: records.NewResource(8192, 1)}) // fits on no node
	within(ctx, lasts)
	tab := Open(t, 1400, 900)
	for _, p := range pictures {
		if (p.name == "node" || p.name == "labels") && node == "" {
			continue
		}
		p.path = strings.Replace(p.path, "NODE", node, 1)
		tab.Theme(p.theme)
		tab.Size(1400, p.height)
		tab.Go("http://" + c.Conf.Text(rm.WebAddress) + p.path)
		tab.Until(p.drawn)
		raw := tab.Picture()
		drawn, err := png.Decode(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if n := inked(drawn); n < 10_000 {
			t.Errorf("%s: %d pixels of the picture aren't empty", p.path, n)
		}
		if folder == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, p.name+".png"), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// pictureNode starts a NodeManager that is a process, with the label gpu, and an application whose commands come and go on it. It returns the node's id.
func pictureNode(t *testing.T, c *minicluster.Cluster) string {
	t.Helper()
	binary, dir, at := built(t), t.TempDir(), ports.Loopback(t, 3)
	run := func(args ...string) {
		t.Helper()
		for _, key := range []string{rm.ClientAddress, rm.MasterAddress, rm.TrackerAddress, rm.AdminAddress, rm.WebAddress} {
			args = slices.Insert(args, 1, "-D", key+"="+c.Conf.Text(key))
		}
		cmd := exec.Command(binary, args...)
		cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+dir, "HADOOP_USER_NAME=carl")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var input strings.Builder
		for i := range 500 {
			fmt.Fprintln(&input, 4+i*7%23)
		}
		cmd.Stdin = strings.NewReader(input.String())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
			_ = cmd.Wait()
		})
	}
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte("<configuration/>"), 0o644); err != nil {
		t.Fatal(err)
	}
	labels := c.RM(0).Leader().Labels()
	if err := errors.Join(labels.Add([]nodelabels.Label{{Name: "gpu", Exclusive: true}}), labels.Replace([]nodelabels.Mapping{{Node: records.NodeID{Host: "127.0.0.1"}, Labels: []string{"gpu"}}}, false)); err != nil {
		t.Fatal(err)
	}
	run("nm", "-D", "yarn.nodemanager.address="+at[0], "-D", "yarn.nodemanager.localizer.address="+at[1], "-D", "yarn.nodemanager.webapp.address="+at[2], "-D", "yarn.nodemanager.local-dirs="+dir+"/local",
		"-D", "yarn.nodemanager.log-dirs="+dir+"/log", "-D", "heddle.state.dir="+dir+"/state", "-D", "hadoop.tmp.dir="+dir+"/tmp", "-D", "heddle.container.run-as-root=true",
		"-D", "yarn.nodemanager.resource.memory-mb=8192", "-D", "yarn.nodemanager.resource.cpu-vcores=8", "-D", "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage=99.5")
	c.Until("the node has joined", func() bool {
		return strings.Contains(ask(t, "http://"+c.Conf.Text(rm.WebAddress)+"/ws/v1/heddle/nodes"), at[0])
	})
	run("xargs", "--queue", "train", "--memory", "1024", "-P", "6", "-I{}", "sleep", "{}")
	return at[0]
}

// within waits for a while, and reports whether the context still holds.
func within(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
