package pool

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am"
	"heddle/am/client"
	"heddle/am/unmanaged"
	"heddle/conf"
	"heddle/yarn/records"
	"heddle/yarn/token"
	"heddle/yarn/wire"
)

// Containers holds executors in the containers of a cluster, by an application whose ApplicationMaster is this process. It asks for
// as many as the pool has work for, and gives back those that have been idle for a while.
type Containers struct {
	Conf   *conf.Config
	User   string // client.User if empty
	Name   string // of the application
	Queue  string
	Binary string // heddle's, for the nodes; this program if empty
	Slots  int    // tasks that an executor runs at a time, 1 by default
	Memory int    // MB for each slot, 512 by default
	Most   int    // executors at most, 1 by default
	Idle   time.Duration
	// Address is the host by which nodes reach this process; "" is the one that faces the ResourceManager.
	Address string
	Secret  []byte // the pool's
	// Progress is as in am.Options.
	Progress func() float32
	Log      *logrus.Entry
}

// BinaryFile is the name of the program in an executor's folder.
const BinaryFile = "heddle"

// startFailures is after how many executors in a row that end before they have come the pool fails.
const startFailures = 5

// Start submits the application, and returns when the ResourceManager has accepted it. If the application ends by itself, the
// pool fails. Stopping it gives all containers back.
func (c Containers) Start(ctx context.Context, p *Pool) (*unmanaged.Running, error) {
	c.Slots, c.Memory, c.Most = max(c.Slots, 1), cmp.Or(c.Memory, 512), max(c.Most, 1)
	c.Idle = cmp.Or(c.Idle, 10*time.Second)
	app, err := unmanaged.New(ctx, unmanaged.Options{
		Conf: c.Conf, User: c.User, Name: c.Name, Type: "HEDDLE-TASKS", Queue: c.Queue, Address: c.Address,
		Progress: c.Progress, Log: c.Log,
	})
	if err != nil {
		return nil, err
	}
	c.User = app.User
	if most := app.Most; !most.IsZero() {
		if c.Memory > int(most[0]) {
			return nil, fmt.Errorf("a task needs %d MB, more than the cluster's largest container of %d MB", c.Memory, most[0])
		}
		c.fit(most)
	}
	creds := &token.Credentials{}
	creds.SetSecret(wire.SecretAlias, c.Secret)
	program, err := c.upload(ctx, creds)
	if err != nil {
		return nil, err
	}
	app.Tokens = creds.Tokens
	reminder := remind(p.log, app.ID, p.State)
	r, err := app.Run(ctx, c.Memory, func(ctx context.Context, m *am.Master, host string, stop <-chan struct{}) error {
		defer reminder.Stop()
		return c.hold(ctx, m, p, program, creds, host, stop)
	}, p.Fail)
	if err != nil {
		reminder.Stop()
	}
	return r, err
}

// fit lets executors have fewer slots if a container can't be that large. There may be more executors then, for as many tasks at a time.
func (c *Containers) fit(most records.Resource) {
	tasks := c.Most * c.Slots
	for c.Slots > 1 && !c.size().FitsIn(most) {
		c.Slots--
	}
	c.Most = (tasks + c.Slots - 1) / c.Slots
}

func (c *Containers) size() records.Resource {
	return records.NewResource(int64(c.Slots*c.Memory), int64(c.Slots))
}

// remindAfter is how long users wait for the first executor before they are told so.
const remindAfter = 10 * time.Second

// remind tells users once that their tasks wait, because a full queue doesn't differ from a slow command otherwise.
func remind(log *logrus.Entry, id records.ApplicationID, state func() State) *time.Timer {
	return time.AfterFunc(remindAfter, func() {
		if s := state(); s.Executors == 0 && s.Waiting > 0 {
			log.Warnf("%v has no container after %v, and %d tasks wait: heddle app -why %v says what it waits for", id,
				remindAfter, s.Waiting, id)
		}
	})
}

// hold runs the ApplicationMaster.
func (c *Containers) hold(ctx context.Context, m *am.Master, p *Pool, program client.Resource, creds *token.Credentials, host string, stop <-chan struct{}) error {
	at := net.JoinHostPort(host, strconv.Itoa(p.Port()))
	h := &holder{
		Containers: c, pool: p, master: m, held: map[records.ContainerID]bool{}, lost: map[records.ContainerID]time.Time{},
		launch: am.Launch{
			Command:   []string{executorCommand(c.Slots, at) + " 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"},
			Resources: map[string]client.Resource{BinaryFile: program}, Credentials: creds,
		},
	}
	return h.run(ctx, stop)
}

// executorCommand starts an executor. If the node's folders are mounted noexec, it says so: the system calls that "Permission denied", of a file that may be executed.
// Nodes put commands between double quotes (UnixShellScriptBuilder), so it has none.
func executorCommand(slots int, at string) string {
	const program = "./" + BinaryFile
	return "{ [ -x " + program + " ] || { echo 'heddle: '$PWD'" + program[1:] + " cannot be executed: is that folder of yarn.nodemanager.local-dirs mounted noexec?' >&2; exit 126; }; " +
		"exec " + program + " executor --watch --slots " + strconv.Itoa(slots) + " " + at + "; }"
}

// holder asks for containers and gives them back.
type holder struct {
	*Containers
	pool   *Pool
	master *am.Master
	launch am.Launch
	held   map[records.ContainerID]bool
	lost   map[records.ContainerID]time.Time // those whose executor was lost, since when
	asked  int                               // containers that are asked for and have not been reported
	asks   []am.RequestID
	failed int       // executors in a row that ended before they had come
	idle   time.Time // since when there are more than are needed
	last   string
}

// every is how often it looks whether executors are idle.
const every = time.Second

func (h *holder) run(ctx context.Context, stop <-chan struct{}) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	events := am.Callbacks{
		ContainersAllocated: func(e am.ContainersAllocated) {
			h.asked -= len(e.Containers)
			for _, c := range e.Containers {
				h.held[c.ID] = true
				h.master.Start(c.ID, h.launch)
			}
		},
		ContainerStartFailed: func(e am.ContainerStartFailed) {
			h.ended(e.Container.ID, fmt.Sprintf("it could not be started: %v", e.Err))
		},
		ContainerCompleted: func(e am.ContainerCompleted) {
			h.ended(e.ID, fmt.Sprintf("container %v has ended with exit code %d: %s", e.ID, e.ExitStatus, e.Diagnostics))
		},
		ContainersSuspended: func(e am.ContainersSuspended) { h.standstill(e.IDs, true) },
		ContainersResumed:   func(e am.ContainersResumed) { h.standstill(e.IDs, false) },
		RequestsRefused:     func(e am.RequestsRefused) { h.failed, h.last = startFailures, e.Err.Error() },
	}
	for {
		if h.failed >= startFailures {
			return fmt.Errorf("%d executors in a row could not be started, the last: %s", h.failed, h.last)
		}
		if err := h.adjust(time.Now()); err != nil {
			return err
		}
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		case <-h.pool.Changed():
		case e, ok := <-h.master.Events():
			if !ok {
				return context.Cause(ctx)
			}
			events.Dispatch(e)
		}
	}
}

// standstill tells the pool which containers are suspended and which have resumed.
func (h *holder) standstill(ids []records.ContainerID, still bool) {
	for _, id := range ids {
		if h.held[id] {
			h.pool.Standstill(id.String(), still)
		}
	}
}

func (h *holder) ended(id records.ContainerID, why string) {
	if !h.held[id] {
		return
	}
	delete(h.held, id)
	h.pool.Explain(id.String(), why)
	// One that had come was started all right. All of them end when this process was suspended for long.
	if !h.pool.forget(id.String()) && h.pool.State().Executors == 0 {
		h.failed++
		h.last = why
	}
}

// adjust asks for containers if there is more work than executors, and gives some back if they have been idle for a while.
func (h *holder) adjust(now time.Time) error {
	s := h.pool.State()
	if s.Executors > 0 {
		h.failed = 0
	}
	for _, id := range h.overdue(now, h.pool.Lost()) {
		h.pool.log.Infof("container %v continues without its executor, and is given back", id)
		h.pool.Standstill(id.String(), false)
		h.pool.forget(id.String())
		h.master.Release(id)
	}
	if h.asked == 0 {
		h.asks = h.asks[:0]
	}
	want, useless := h.pool.demand(h.Slots)
	want = min(h.Most, want)
	have := len(h.held) - useless + h.asked
	if want >= len(h.held) {
		h.idle = now
	}
	switch {
	case want > have:
		id, err := h.master.Request(am.Request{Resource: h.size(), Count: want - have})
		if err != nil {
			return err
		}
		h.asks, h.asked = append(h.asks, id), h.asked+want-have
	case want < have && h.asked > 0:
		h.withdraw(have - want)
	case want < len(h.held) && now.Sub(h.idle) >= h.Idle:
		for _, name := range h.pool.Leave(len(h.held) - want) {
			if id, err := records.ParseContainerID(name); err == nil {
				delete(h.held, id)
				h.pool.Standstill(name, false)
				h.pool.forget(name)
				h.master.Release(id)
			}
		}
	}
	return nil
}

// withdraw takes requests back that have not been served.
func (h *holder) withdraw(n int) {
	for n > 0 && len(h.asks) > 0 {
		last := len(h.asks) - 1
		took := h.master.Withdraw(h.asks[last], n)
		h.asked -= took
		if n -= took; n > 0 {
			h.asks = h.asks[:last] // nothing is left of it
		}
	}
}
