package nm

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/internal/await"
	"heddle/nm/container"
	"heddle/nm/gpu"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// withGPUs starts a container that has n GPUs. It writes down what it sees, and then sleeps.
func (l *lab) withGPUs(id records.ContainerID, n int64) (*container.Container, string) {
	l.t.Helper()
	out := filepath.Join(l.dir, id.String())
	req := l.request(id, "echo -n '${CUDA_VISIBLE_DEVICES-unset} ${NVIDIA_VISIBLE_DEVICES-unset}' > "+out+".new && mv "+out+".new "+out+"; sleep 1000")
	req.SetContainerToken(l.grant(id, func(m *pb.ContainerTokenIdentifier) {
		r := records.NewResource(256, 1)
		i, _ := l.node.s.types.Index(gpu.Type)
		r[i] = n
		m.SetResource(l.node.s.types.PB(r))
	}))
	resp, err := protocol.StartContainers.Call(l.t.Context(), l.as(id.Attempt), startRequest(req))
	if err != nil || len(resp.GetSucceededRequests()) != 1 {
		l.t.Fatalf("%v, %v", resp, err)
	}
	c, err := l.node.Containers().Container(id)
	if err != nil {
		l.t.Fatal(err)
	}
	return c, out
}

func (l *lab) wrote(file string) (text string) {
	l.t.Helper()
	await.Until(l.t, "what the container sees", func() bool {
		b, err := os.ReadFile(file)
		text = string(b)
		return err == nil
	})
	return text
}

// Each container sees its own GPUs, also after a restart of the node, and what one gives back the next one gets.
func TestGPUsAreHandedToContainers(t *testing.T) {
	l := newLab(t, "yarn.nodemanager.recovery.supervised=true", "heddle.node.id=n", "yarn.resource-types=yarn.io/gpu",
		"yarn.nodemanager.resource-plugins=yarn.io/gpu", "yarn.nodemanager.resource-plugins.gpu.allowed-gpu-devices=0:4,2:6,3:7").up()
	if got := l.rm.registrations()[0].GetResource().GetResourceValueMap(); len(got) != 3 || got[2].GetKey() != gpu.Type || got[2].GetValue() != 3 {
		t.Errorf("registered with %v", got)
	}
	first, out1 := l.withGPUs(containerID(1, 1), 2)
	if got := l.wrote(out1); got != "0,2 0,2" {
		t.Errorf("the first container sees %q", got)
	}
	none, out2 := l.withGPUs(containerID(1, 2), 0)
	if got := l.wrote(out2); got != " void" {
		t.Errorf("a container without GPUs sees %q", got)
	}
	l.running(first)
	l.running(none)
	l.stop()
	l.up()
	_, out3 := l.withGPUs(containerID(1, 3), 1)
	if got := l.wrote(out3); got != "3 3" {
		t.Errorf("after a restart the next container sees %q", got)
	}
	l.expect(l.web(http.MethodGet, "/ws/v1/node/resources/yarn.io%2Fgpu", "Accept", asJSON), 200, jsonType,
		`{"totalGpuDevices":[{"index":0,"minorNumber":4},{"index":2,"minorNumber":6},{"index":3,"minorNumber":7}],`+
			`"assignedGpuDevices":[{"index":0,"minorNumber":4,"containerId":"`+containerID(1, 1).String()+`"},`+
			`{"index":2,"minorNumber":6,"containerId":"`+containerID(1, 1).String()+`"},`+
			`{"index":3,"minorNumber":7,"containerId":"`+containerID(1, 3).String()+`"}]}`)
	stop := &pb.StopContainersRequest{}
	stop.SetContainerId(ids(containerID(1, 1)))
	if _, err := protocol.StopContainers.Call(t.Context(), l.as(attempt(1)), stop); err != nil {
		t.Fatal(err)
	}
	_, out4 := l.withGPUs(containerID(1, 4), 2) // it waits until the first one is gone
	if got := l.wrote(out4); got != "0,2 0,2" {
		t.Errorf("what was given back: %q", got)
	}
	// stop it as a whole
	l.set = l.set[1:]
	l.stop()
	l.up()
}

func TestGPUSettings(t *testing.T) {
	const plugin, allowed = "yarn.nodemanager.resource-plugins=yarn.io/gpu", "yarn.nodemanager.resource-plugins.gpu.allowed-gpu-devices="
	for _, c := range []struct {
		set   []string
		count int64
		want  string
	}{
		{nil, 0, ""},
		{[]string{"yarn.resource-types=yarn.io/gpu"}, 0, ""},
		{[]string{"yarn.resource-types=yarn.io/gpu", "yarn.nodemanager.resource-type.yarn.io/gpu=4"}, 4, ""},
		{[]string{"yarn.resource-types=yarn.io/gpu", plugin, allowed + "1:1"}, 1, ""},
		{[]string{plugin, allowed + "1:1"}, 0, "yarn.resource-types doesn't list it"},
		{[]string{"yarn.resource-types=yarn.io/gpu", plugin, allowed + "one"}, 0, `"one" is not a GPU`},
	} {
		loaded, err := conf.Load(conf.Options{Overrides: c.set})
		if err != nil {
			t.Fatal(err)
		}
		types, err := loaded.ResourceTypes()
		if err != nil {
			t.Fatal(err)
		}
		has, err := loaded.NodeResource(types, conf.Hardware{})
		if err != nil {
			t.Fatal(err)
		}
		pool, err := gpus(loaded, types, &has)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.set, err, c.want)
		}
		if err == nil && (pool == nil) != (c.count == 0) || pool != nil && int64(len(pool.Devices())) != c.count {
			t.Errorf("%v: %+v, want %d GPUs", c.set, pool, c.count)
		}
	}
}
