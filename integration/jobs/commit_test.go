package jobs

import (
	wire "encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"

	"heddle/hdfsadapter"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/records"
)

// doorkeeper stands between clients of HDFS and the NameNode. It stops one of them for good at a call that the test picks.
type doorkeeper struct {
	listener net.Listener
	nameNode string
	end      chan struct{}
	wg       sync.WaitGroup

	mu      sync.Mutex
	stop    func(call string) bool // nil: none is to be stopped
	stopped chan struct{}
}

func newDoorkeeper(t *testing.T, nameNode string) *doorkeeper {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &doorkeeper{listener: l, nameNode: nameNode, end: make(chan struct{})}
	d.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			d.wg.Go(func() { d.lead(c) })
		}
	})
	t.Cleanup(func() {
		close(d.end)
		l.Close()
		d.wg.Wait()
	})
	return d
}

func (d *doorkeeper) port() int { return d.listener.Addr().(*net.TCPAddr).Port }

// at has the first client stopped whose call, as it is on the wire, is of this kind. The call doesn't reach the NameNode.
func (d *doorkeeper) at(stop func(call string) bool) (stopped <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stop, d.stopped = stop, make(chan struct{})
	return d.stopped
}

func (d *doorkeeper) stops(call string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop == nil || !d.stop(call) {
		return false
	}
	d.stop = nil
	close(d.stopped)
	return true
}

// lead leads one client's calls to the NameNode.
func (d *doorkeeper) lead(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", d.nameNode)
	if err != nil {
		return // as it is without a doorkeeper
	}
	over := make(chan struct{})
	defer func() {
		server.Close()
		<-over
	}()
	go func() {
		defer close(over)
		_, _ = io.Copy(client, server) // until one of them has gone
		client.Close()
	}()
	ended := make(chan struct{})
	defer close(ended)
	d.wg.Go(func() {
		select {
		case <-d.end:
			client.Close()
			server.Close()
		case <-ended:
		}
	})
	const greeting = 7 // "hrpc", version, class, authentication; calls have their length before them
	if _, err := io.CopyN(server, client, greeting); err != nil {
		return
	}
	for {
		var length [4]byte
		if _, err := io.ReadFull(client, length[:]); err != nil {
			return
		}
		call := make([]byte, wire.BigEndian.Uint32(length[:]))
		if _, err := io.ReadFull(client, call); err != nil {
			return
		}
		if d.stops(string(call)) {
			<-d.end
			return
		}
		if _, err := server.Write(append(length[:], call...)); err != nil {
			return
		}
	}
}

// does picks the calls that do something to a path.
func does(what, to string) func(call string) bool {
	return func(call string) bool { return strings.Contains(call, what) && strings.Contains(call, to) }
}

const parts = 6 // of the outputs of jobs behind a door

// behindADoor starts a cluster whose files are on HDFS behind a doorkeeper, with a line in each file of the folder /in.
func behindADoor(t *testing.T) (*cluster, *doorkeeper, *hdfsadapter.FS) {
	t.Helper()
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 1})
	door := newDoorkeeper(t, fmt.Sprintf("localhost:%d", lab.Port("namenode")))
	c := startCluster(t, 1, 1, map[string]string{
		"fs.defaultFS": fmt.Sprintf("hdfs://localhost:%d", door.port()), "dfs.client.use.datanode.hostname": "true",
		"yarn.app.mapreduce.am.staging-dir": "/staging",
	})
	fs := files(t, c.conf)
	for i := range parts {
		put(t, fs, fmt.Sprintf("/in/%d", i), "line\n")
	}
	return c, door, fs
}

// stopped waits until the doorkeeper has stopped somebody, and kills the processes of a role in the job's containers that begin with id.
func (j *job) stopped(stopped <-chan struct{}, role, id string) {
	j.c.t.Helper()
	select {
	case <-stopped:
	case err := <-j.done:
		j.c.t.Fatalf("the job is over, and nobody was stopped: %v\n%s", err, j.stderr)
	}
	killed := 0
	for _, pid := range processes(role, id) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			killed++
		}
	}
	if killed == 0 {
		j.c.t.Fatalf("no %s of %s runs", role, id)
	}
}

// All workers are killed while one of them writes its output: the tasks are done again, and each line is there once.
func TestWorkersKilledAtAWrite(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel() // most of it waits
	c, door, fs := behindADoor(t)
	for i, call := range []string{"create", "addBlock", "complete"} {
		t.Run(call, func(t *testing.T) {
			c.t = t
			out := fmt.Sprint("/out", i)
			stopped := door.at(does(call, out+"/_temporary/1/attempt_"))
			j := c.mr("-input", "/in", "-output", out, "-mapper", "cat", "-numReduceTasks", "0", "-D", "mapreduce.input.fileinputformat.split.maxsize=5")
			j.stopped(stopped, "mr-worker", "container_"+strings.TrimPrefix(j.application(), "application_"))
			r := j.end()
			if r.Attempts != 1 || r.FinalStatus != "SUCCEEDED" || len(r.Failures) == 0 {
				t.Errorf("%+v", r)
			}
			if got := get(t, fs, out); got != strings.Repeat("line\n", parts) {
				t.Errorf("%q", got)
			}
			if left, err := fs.Glob(t.Context(), out+"/_temporary*"); err != nil || len(left) > 0 {
				t.Errorf("left in the output: %v, %v", left, err)
			}
		})
	}
	c.t = t
}

// All attempts of an ApplicationMaster are killed before the commit. The client that waits for the job removes what they have left.
func TestNothingIsLeftOfAJobWhoseMastersWereKilled(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel() // most of it waits
	c, door, fs := behindADoor(t)
	stopped := door.at(does("create", "/commit/parts.1"))
	j := c.mr("-input", "/in", "-output", "/out", "-mapper", "cat", "-numReduceTasks", "0", "-D", "yarn.resourcemanager.am.max-attempts=2")
	attempt := "container_" + strings.TrimPrefix(j.application(), "application_")
	for i := 1; i <= 2; i++ {
		j.stopped(stopped, "mr-master", fmt.Sprintf("%s_%02d_", attempt, i))
		stopped = door.at(does("create", "/commit/parts.2"))
	}
	if r, err := j.wait(); err == nil || r.FinalStatus != "FAILED" {
		t.Errorf("%v: %+v", err, r)
	}
	for _, folder := range []string{"/out*", "/staging/*/.staging/*"} {
		if left, err := fs.Glob(t.Context(), folder); err != nil || len(left) > 0 {
			t.Errorf("left of %s: %v, %v", folder, left, err)
		}
	}
	await.Slowly(t, "no process of the job is left", func() bool { return len(processes(attempt)) == 0 })
}

// The ApplicationMaster is killed at a write, with the files on HDFS: the output is of one attempt, whole, and made once.
func TestMasterKilledAtAWrite(t *testing.T) {
	t.Parallel() // most of it waits
	c, door, fs := behindADoor(t)
	// moves is the call that has the nth part moved, counted from 0.
	moves := func(n int) func(string) bool {
		begun := false
		return func(call string) bool {
			begun = begun || does("rename", "/commit/begun.1")(call)
			if begun && does("rename", "/part-")(call) {
				n--
			}
			return n < 0
		}
	}
	for i, x := range []struct {
		name  string
		at    func(call string) bool
		made  int32 // by which attempt
		moved int   // parts that are in their place when the ApplicationMaster dies
		often bool  // with each run of the tests; the others are all other writes of an ApplicationMaster
	}{
		{"when it takes its turn", does("rename", "/commit/turn.1"), 2, 0, false},
		{"when it says that the output folder is its own", does("create", "/commit/made"), 2, 0, false},
		{"while it says so", does("complete", "/commit/made"), 2, 0, false},
		{"when it makes the folder", does("mkdirs", "/_temporary/1"), 2, 0, false},
		{"when it lists the parts", does("create", "/commit/parts.1"), 2, 0, false},
		{"while it lists them", does("addBlock", "/commit/parts.1"), 2, 0, false},
		{"when it has listed them", does("complete", "/commit/parts.1"), 2, 0, false},
		{"before it begins", does("rename", "/commit/begun.1"), 2, 0, true},
		{"when it has begun", moves(0), 1, 0, true},
		{"when some parts have moved", moves(4), 1, 4, true},
		{"when it removes the rest", does("delete", "/_temporary"), 1, parts, false},
		{"when it says that the output is complete", does("create", "/_SUCCESS"), 1, parts, false},
		{"while it says that the output is complete", does("complete", "/_SUCCESS"), 1, parts, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			c.t = t
			if !x.often {
				hadooplab.SkipUnlessFull(t)
			}
			out := fmt.Sprint("/out", i)
			stopped := door.at(x.at)
			j := c.mr("-input", "/in", "-output", out, "-mapper", "echo $CONTAINER_ID", "-numReduceTasks", "0",
				"-D", "mapreduce.input.fileinputformat.split.maxsize=5") // a task for each file
			attempt := "container_" + strings.TrimPrefix(j.application(), "application_")
			select {
			case <-stopped:
			case err := <-j.done:
				t.Fatalf("the job is over, and nobody was stopped: %v\n%s", err, j.stderr)
			}
			// of those that it moves at once, all before the one that was stopped are through when the NameNode has taken them
			await.Slowly(t, "the NameNode has moved parts", func() bool {
				moved, err := fs.Glob(t.Context(), out+"/part-*")
				return err == nil && len(moved) == x.moved
			})
			j.stopped(stopped, "mr-master", attempt+"_01_")
			if r := j.end(); r.Attempts != 2 || r.FinalStatus != "SUCCEEDED" {
				t.Errorf("%+v", r)
			}
			list, err := fs.List(t.Context(), out)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, f := range list {
				names = append(names, f.Name)
			}
			if want := "[_SUCCESS part-00000 part-00001 part-00002 part-00003 part-00004 part-00005]"; fmt.Sprint(names) != want {
				t.Errorf("%v", names)
			}
			written := strings.Fields(get(t, fs, out))
			for _, by := range written {
				if id, err := records.ParseContainerID(by); err != nil || id.Attempt.Attempt != x.made {
					t.Errorf("written by %s, not by attempt %d: %v", by, x.made, err)
				}
			}
			if len(written) != parts {
				t.Errorf("%d lines instead of %d", len(written), parts)
			}
			if left, err := fs.Glob(t.Context(), "/staging/*/.staging/*"); err != nil || len(left) > 0 {
				t.Errorf("left in the staging folder: %v, %v", left, err)
			}
		})
	}
	c.t = t
}
