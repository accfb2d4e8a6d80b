package mapreduce

import (
	"context"
	"errors"
	"testing"

	"heddle/am"
	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/served"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// newServed is a play of two maps and a reduce whose outputs nodes serve.
func newServed() *play {
	s := specOf(job.Job{Reduces: 1, SlowStart: "1.0"}, 3)
	s.NodesServe = true
	p := newPlayBy(s, 2)
	p.c.shuffle = []byte("secret")
	return p
}

// serve has a worker say that its map is done, and its node's shuffle serves that at a port.
func (p *play) serve(w string, id job.TaskID, port int) {
	p.c.finished(context.Background(), &job.DoneReport{Worker: w, ID: id, Shuffle: port})
}

func (p *play) latest() job.MapOutput { return p.c.events[len(p.c.events)-1] }

// A worker whose maps are done goes at once if its node serves the outputs. These are made again when the node is lost.
func TestWorkersGoWhoseNodesServe(t *testing.T) {
	p := newServed()
	a, b := p.grant("a"), p.grant("b")
	if string(p.cluster.launch.ServiceData[served.Service]) != "secret" || p.c.launch.ServiceData != nil {
		t.Fatalf("the node is told %v", p.cluster.launch.ServiceData)
	}
	first := must(p.next(a)).Task.ID
	must(p.next(b))
	p.serve(a, first, 13562)
	if e := p.latest(); e.Node != "a:13562" || e.URL != "http://"+a {
		t.Errorf("reduces are told %+v", e)
	}
	if r := must(p.next(a)); !r.Exit {
		t.Errorf("it stays for %+v", r)
	}
	p.end(a, 0)
	nodesChanged(p.c, []am.NodeUpdate{{Node: records.NodeID{Host: "a", Port: 1}, State: pb.NodeState_NS_RUNNING}})
	if p.latest().Lost {
		t.Fatal("an output is lost whose node is there")
	}
	nodesChanged(p.c, []am.NodeUpdate{{Node: records.NodeID{Host: "a", Port: 1}, State: pb.NodeState_NS_LOST}})
	if e := p.latest(); !e.Lost || e.Map != first.Index {
		t.Errorf("%+v", e)
	}
	p.check(t)
}

// Where nodes aren't to serve, or have no service, or one that can't be, workers stay as long as reduces need them.
func TestWorkersServeWhereNodesDoNot(t *testing.T) {
	for _, x := range []struct {
		shuffle []byte
		port    int
	}{{nil, 13562}, {[]byte("secret"), 0}, {[]byte("secret"), -1}, {[]byte("secret"), 65536}} {
		p := newServed()
		p.c.shuffle = x.shuffle
		a, b := p.grant("a"), p.grant("b")
		first := must(p.next(a)).Task.ID
		must(p.next(b))
		p.serve(a, first, x.port)
		if e := p.latest(); e.Node != "" {
			t.Errorf("%+v: reduces are told %+v", x, e)
		}
		if r := must(p.next(a)); r.Exit {
			t.Errorf("%+v: its outputs go with it", x)
		}
	}
}

// What a node refuses is made again, and served by a worker there from then on.
func TestNodesThatRefuseOutputsDoNotServe(t *testing.T) {
	p := newServed()
	a, b := p.grant("a"), p.grant("a")
	first, second := must(p.next(a)).Task.ID, must(p.next(b)).Task.ID
	p.serve(a, first, 13562)
	p.serve(b, second, 13562)
	must(p.next(a)) // goes, or has the reduce
	must(p.next(b))
	var reducer string
	for _, w := range []string{a, b} {
		if s := p.c.workers[w]; s != nil && s.task != nil && s.task.ID.Kind == job.Reduce {
			reducer = w
		}
	}
	if reducer == "" {
		t.Fatal("nobody reduces")
	}
	v, err := p.c.unfetchable(context.Background(), &job.FetchFailure{Worker: reducer, Map: first.Index, Attempt: first.Attempt, Gone: true, Error: "refused"})
	if err != nil || v.Again || !p.latest().Lost {
		t.Fatalf("%+v, %v; reduces are told %+v", v, err, p.latest())
	}
	c := p.grant("a")
	if p.cluster.launch.ServiceData != nil {
		t.Errorf("the node is told %v", p.cluster.launch.ServiceData)
	}
	again := must(p.next(c)).Task.ID
	p.serve(c, again, 13562)
	if e := p.latest(); e.Map != first.Index || e.Node != "" {
		t.Errorf("reduces are told %+v", e)
	}
}

// A node without the service refuses a container that has data for it. The next one there has none, and nobody is to blame.
func TestNodesWithoutServiceGetContainersWithoutData(t *testing.T) {
	p := newServed()
	a := p.grant("a")
	refusal := am.ContainerStartFailed{
		Container: am.Container{ID: must(records.ParseContainerID(a))},
		Err:       &ipc.RemoteError{Class: ipc.InvalidAuxService, Text: "The auxService:mapreduce_shuffle does not exist"},
	}
	notStarted(p.c, refusal)
	notStarted(p.c, refusal)
	b := p.grant("a")
	if b == "" || p.cluster.launch.ServiceData != nil || len(p.c.failures) != 0 {
		t.Errorf("container %q, which is told %v; failures %v", b, p.cluster.launch.ServiceData, p.c.failures)
	}
	p.grant("b")
	if p.cluster.launch.ServiceData == nil {
		t.Error("another node isn't told the secret")
	}
	notStarted(p.c, am.ContainerStartFailed{Container: am.Container{ID: must(records.ParseContainerID(b))}, Err: errors.New("it broke")})
	if p.c.workers[b] != nil {
		t.Error("a container that couldn't be started is there")
	}
	p.check(t)
}
