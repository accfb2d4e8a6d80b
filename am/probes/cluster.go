package probes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am"
	"heddle/am/staging"
	"heddle/am/unmanaged"
	"heddle/conf"
	"heddle/conf/secure"
	"heddle/hdfsadapter"
	"heddle/yarn/records"
	"heddle/yarn/token"
	"heddle/yarn/wire"
)

// Cluster offers the nodes of a cluster to a Scheduler, by an application whose ApplicationMaster is this process.
type Cluster struct {
	Conf    *conf.Config
	User    string // client.User if empty
	Name    string // of the application
	Queue   string
	Address string // as in unmanaged.Options
	// Progress is as in am.Options.
	Progress func() float32
	Log      *logrus.Entry
}

// patience is how long users wait for a node before they are told so, or before the Scheduler fails if the cluster has none that takes probes.
const patience = 10 * time.Second

// ErrNoNodes says that no node of the cluster takes probes.
var ErrNoNodes = errors.New("no node of the cluster takes probes of short tasks: set heddle.probes.memory-mb for ResourceManagers and NodeManagers, and not more than nodes can spare: the ResourceManager's log names those that are lent nothing")

// Start submits the application, and returns when the ResourceManager has accepted it. If the application ends by itself, the Scheduler
// fails.
func (c Cluster) Start(ctx context.Context, s *Scheduler) (*unmanaged.Running, error) {
	app, err := unmanaged.New(ctx, unmanaged.Options{
		Conf: c.Conf, User: c.User, Name: c.Name, Type: "HEDDLE-TASKS", Queue: c.Queue, Address: c.Address, Probes: true, Progress: c.Progress, Log: c.Log,
	})
	if err != nil {
		return nil, err
	}
	if s.o.Credentials == nil {
		if app.Tokens, s.o.Credentials, err = c.tokens(ctx, app.User); err != nil {
			return nil, err
		}
	}
	return app.Run(ctx, int(s.o.MemoryMB), func(ctx context.Context, m *am.Master, _ string, stop <-chan struct{}) error {
		return s.follow(ctx, m, stop)
	}, s.Fail)
}

// tokens returns what nodes need to use the default file system for the user: nothing without Kerberos.
func (c Cluster) tokens(ctx context.Context, user string) ([]token.NamedToken, []byte, error) {
	if !secure.On(c.Conf) {
		return nil, nil, nil
	}
	adapter, err := hdfsadapter.New(c.Conf, hdfsadapter.Options{Log: c.Log})
	if err != nil {
		return nil, nil, err
	}
	defer adapter.Close()
	creds := &token.Credentials{}
	if err := staging.Tokens(ctx, adapter.As(user), c.Conf, creds, "/"); err != nil {
		return nil, nil, fmt.Errorf("tokens for the nodes: %w", err)
	}
	raw, err := creds.Encode(token.FormatWritable)
	return creds.Tokens, raw, err
}

// follow offers the nodes of which the ResourceManager tells, until stop is closed or ctx ends.
func (s *Scheduler) follow(ctx context.Context, m *am.Master, stop <-chan struct{}) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	offered := map[records.NodeID]bool{}
	events := am.Callbacks{ProbeNodesChanged: func(e am.ProbeNodesChanged) {
		for _, id := range e.Gone {
			delete(offered, id)
			s.Withdraw(id.String())
		}
		for _, n := range e.Come {
			offered[n.Node] = true
			s.Offer(Target{
				Node: n.Node.String(), Address: net.JoinHostPort(n.Node.Host, strconv.Itoa(n.Port)),
				Name: n.Token.Identifier, Secret: wire.SecretOf(n.Token.Password), Long: n.Long, Short: n.Short,
			})
		}
	}}
	for {
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			if len(offered) == 0 {
				return ErrNoNodes
			}
			if state := s.State(); state.Nodes == 0 && state.Tasks > 0 {
				s.log.Warnf("none of %d nodes can be reached after %v, and %d tasks wait. %s", len(offered), patience, state.Tasks, state.Refused)
			} else if s.idleSince(patience) {
				s.log.Warnf("%d tasks wait, and no node has taken one for %v. %s", state.Tasks, patience, state.Refused)
			}
			late.Reset(patience)
		case e, ok := <-m.Events():
			if !ok {
				return context.Cause(ctx)
			}
			events.Dispatch(e)
		}
	}
}

// idleSince reports whether tasks wait and no attempt of any has run for a while.
func (s *Scheduler) idleSince(d time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nodes {
		if len(n.attempts) > 0 {
			return false
		}
	}
	return len(s.places) > 0 && time.Since(s.lastTask) >= d
}
