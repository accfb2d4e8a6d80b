package burst

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"heddle/am"
	"heddle/am/client"
	"heddle/yarn/records"
)

// Part is a process in a container: an ApplicationMaster, or one of its tasks.
type Part struct {
	To     string   // where the benchmark listens
	Start  []string // the command that runs a part
	Job    int
	Task   int // 0 is the ApplicationMaster
	Tasks  int // of the job
	Size   records.Resource
	Work   time.Duration // that a task does, if it has its processor
	Memory int64         // bytes that a task uses
}

// variable has the Part in its container's environment.
const variable = "HEDDLE_BURST_PART"

// cores is how much of a core a task uses.
const cores = 0.02

// Messages of parts to the benchmark.
const (
	begun = "begun" // it runs
	asked = "asked" // the ApplicationMaster asks for containers
	ready = "ready" // a task has filled its memory
	done  = "done"
)

// message is what a part tells, one JSON value a line.
type message struct {
	What      string
	Job, Task int
	Container string
	At        int64  // ns since 1970
	Error     string `json:",omitempty"`
}

// launch returns how a part is started in a container.
func (p Part) launch(env map[string]string) (client.Launch, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return client.Launch{}, err
	}
	l := client.Launch{Env: map[string]string{variable: client.Quote(string(b))}}
	for k, v := range env {
		l.Env[k] = v
	}
	l.Command = append(append([]string{"exec"}, p.Start...), "1><LOG_DIR>/stdout", "2><LOG_DIR>/stderr")
	return l, nil
}

// voice is a part's connection to the benchmark.
type voice struct {
	part *Part
	conn net.Conn
}

func (v *voice) say(what string, err error) error {
	m := message{What: what, Job: v.part.Job, Task: v.part.Task, Container: os.Getenv("CONTAINER_ID"), At: time.Now().UnixNano()}
	if err != nil {
		m.Error = err.Error()
	}
	return json.NewEncoder(v.conn).Encode(m)
}

// RunPart is the program of a container.
func RunPart(ctx context.Context) error {
	var p Part
	if err := json.Unmarshal([]byte(os.Getenv(variable)), &p); err != nil {
		return fmt.Errorf("$%s: %w", variable, err)
	}
	conn, err := net.Dial("tcp", p.To)
	if err != nil {
		return err
	}
	defer conn.Close()
	v := &voice{&p, conn}
	if err := v.say(begun, nil); err != nil {
		return err
	}
	if p.Task == 0 {
		err = am.Run(ctx, am.Options{}, func(ctx context.Context, m *am.Master) error { return p.lead(ctx, m, v) })
	} else {
		err = p.work(v)
	}
	if e := v.say(done, err); err == nil {
		err = e
	}
	return err
}

// lead runs each task in a container until it is done.
func (p *Part) lead(ctx context.Context, m *am.Master, v *voice) error {
	todo := make([]int, p.Tasks)
	for i := range todo {
		todo[i] = i + 1
	}
	runs := map[records.ContainerID]int{}
	request := am.Request{Resource: p.Size, Count: p.Tasks}
	if _, err := m.Request(request); err != nil {
		return err
	}
	if err := v.say(asked, nil); err != nil {
		return err
	}
	again := func(id records.ContainerID) error {
		todo = append(todo, runs[id])
		delete(runs, id)
		request.Count = 1
		_, err := m.Request(request)
		return err
	}
	for ended := 0; ended < p.Tasks; {
		var e am.Event
		select {
		case e = <-m.Events():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		switch e := e.(type) {
		case am.ContainersAllocated:
			for _, c := range e.Containers {
				if len(todo) == 0 {
					m.Release(c.ID)
					continue
				}
				task := *p
				task.Task, todo = todo[0], todo[1:]
				l, err := task.launch(nil)
				if err != nil {
					return err
				}
				runs[c.ID] = task.Task
				m.Start(c.ID, l)
			}
		case am.ContainerStartFailed:
			if err := again(e.Container.ID); err != nil {
				return err
			}
		case am.ContainerCompleted:
			switch {
			case runs[e.ID] == 0:
			case e.ExitStatus == 0:
				ended++
				delete(runs, e.ID)
				m.SetProgress(float32(ended) / float32(p.Tasks))
			default:
				if err := again(e.ID); err != nil {
					return err
				}
			}
		case am.RequestsRefused:
			return e.Err
		}
	}
	return nil
}

// step is the time in which a task does a bit of its work. Of a time in which it was suspended, at most a step counts as worked.
const step = 20 * time.Millisecond

// work does a task's work, in steps: it computes for a moment, looks at a part of its memory, and waits. The memory must hold what it has
// written there.
func (p *Part) work(v *voice) error {
	memory := make([]byte, p.Memory)
	for i := 0; i+8 <= len(memory); i += 8 {
		binary.LittleEndian.PutUint64(memory[i:], mixed(uint64(i)))
	}
	if err := v.say(ready, nil); err != nil {
		return err
	}
	steps := int(p.Work / step)
	share := max(len(memory)/max(1, min(steps, int(time.Second/step))), os.Getpagesize()) // all of it in a second
	late, at := time.Duration(0), 0
	for range steps {
		from := time.Now()
		for end := min(at+share, len(memory)); at+8 <= end; at += os.Getpagesize() {
			if got := binary.LittleEndian.Uint64(memory[at:]); got != mixed(uint64(at)) {
				return fmt.Errorf("its memory has changed at byte %d", at)
			}
			binary.LittleEndian.PutUint64(memory[at:], mixed(uint64(at))) // the page is dirty
		}
		if at+8 > len(memory) {
			at = 0
		}
		for time.Since(from) < time.Duration(cores*float64(step)) {
			runtime.Gosched()
		}
		time.Sleep(step - late - time.Since(from))
		late = min(max(time.Since(from)-step+late, 0), step) // the clock of the machine isn't exact
	}
	for i := 0; i+8 <= len(memory); i += 8 {
		if binary.LittleEndian.Uint64(memory[i:]) != mixed(uint64(i)) {
			return fmt.Errorf("its memory has changed at byte %d", i)
		}
	}
	return nil
}

// mixed returns a number that can't be compressed with its neighbours (SplitMix64).
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
