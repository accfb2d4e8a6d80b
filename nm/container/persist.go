package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"heddle/nm/allocation"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Suffixes of a container's keys in the store.
const (
	requestKey = "/request" // a StartContainerRequest: launch context and, as its token's identifier, the grant
	recordKey  = "/record"
)

// saveRequest keeps what the container was started with. It is called anew when that changes.
func (c *Container) saveRequest() error {
	c.mu.Lock()
	saved := c.beginRequest()
	c.mu.Unlock()
	return <-saved
}

// beginRequest queues request and record for the store. What it returns gets the outcome. The lock is held, so that they
// get there in the order in which they change.
func (c *Container) beginRequest() <-chan error {
	req := &pb.StartContainerRequest{}
	req.SetContainerLaunchContext(c.context)
	t := &pb.Token{}
	t.SetIdentifier(c.token)
	// Only the identifier is needed again: the token has been verified.
	t.SetPassword([]byte{})
	t.SetKind("")
	t.SetService("")
	req.SetContainerToken(t)
	b, err := proto.Marshal(req)
	if err != nil {
		return outcome(fmt.Errorf("container %s: %w", c.ID(), err))
	}
	if c.forgotten {
		return outcome(nil)
	}
	request, record := c.m.ContainerRecords.Begin(c.ID().String()+requestKey, b), c.begin()
	both := make(chan error, 1)
	go func() { both <- errors.Join(<-request, <-record) }()
	return both
}

// begin queues the record for the store, as beginRequest does. The lock is held.
func (c *Container) begin() <-chan error {
	if c.forgotten {
		return outcome(nil)
	}
	b, err := json.Marshal(&c.record)
	if err != nil {
		return outcome(fmt.Errorf("container %s: %w", c.ID(), err))
	}
	return c.m.ContainerRecords.Begin(c.ID().String()+recordKey, b)
}

// beginLocked is begin for who doesn't hold the lock.
func (c *Container) beginLocked() <-chan error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begin()
}

// outcome is that of a write which is over already.
func outcome(err error) <-chan error {
	done := make(chan error, 1)
	done <- err
	return done
}

// Saved returns when what has happened to the container is on disk, or with an error.
func (c *Container) Saved(ctx context.Context) error {
	select {
	case err := <-c.beginLocked():
		return err
	case <-ctx.Done():
		return fmt.Errorf("note down the state of container %s: %w", c.ID(), ctx.Err())
	}
}

// save keeps the record where nothing can be done about a failure: the container goes its way, and after a restart is
// taken up where it was last noted to be. It waits for the disk.
func (c life) save() { report(c.log, <-c.beginLocked()) }

// logged has the outcome of a write logged if it is a failure, for who must not wait for a disk.
func (c *Container) logged(saved <-chan error) {
	go func() { report(c.log, <-saved) }()
}

func report(log *logrus.Entry, err error) {
	if err != nil {
		log.WithError(err).Error("Could not note down the container's state")
	}
}

// forget removes the container from the store, for good and without waiting for it.
func (c *Container) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgotten = true
	for _, suffix := range []string{recordKey, requestKey} {
		c.logged(c.m.ContainerRecords.BeginDelete(c.ID().String() + suffix))
	}
}

// loaded is a container as the store has it.
type loaded struct {
	grant   allocation.Grant
	token   []byte
	context *pb.ContainerLaunchContext
	record  record
}

// load reads all containers.
func (m *Manager) load() ([]loaded, error) {
	requests := make(map[records.ContainerID]loaded)
	recorded := make(map[records.ContainerID]record)
	err := m.ContainerRecords.ForEach("", func(key string, value []byte) error {
		id, suffix, err := splitKey(key)
		if err != nil {
			return err
		}
		switch suffix {
		case requestKey:
			l, err := parseRequest(value, m.cfg.Types)
			if err != nil {
				return err
			}
			if l.grant.ID.String()+requestKey != key { // another key would stay for ever: no end of the container deletes it
				return fmt.Errorf("record %q is that of %s", key, l.grant.ID)
			}
			requests[id] = l
		case recordKey:
			var r record
			if err := json.Unmarshal(value, &r); err != nil {
				return err
			}
			recorded[id] = r
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recover containers: %w", err)
	}
	var out []loaded
	for id, l := range requests {
		r, ok := recorded[id]
		if !ok {
			// The last life ended between the two writes, before the container was accepted.
			m.Log.WithField("container", id.String()).Info("Dropping a container that was never accepted")
			if err := m.ContainerRecords.Delete(id.String() + requestKey); err != nil {
				return nil, err
			}
			continue
		}
		l.record = r
		out = append(out, l)
		delete(recorded, id)
	}
	for id := range recorded {
		// The last life ended between the two removals.
		if err := m.ContainerRecords.Delete(id.String() + recordKey); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func splitKey(key string) (id records.ContainerID, suffix string, err error) {
	for _, suffix := range []string{requestKey, recordKey} {
		if n := len(key) - len(suffix); n > 0 && key[n:] == suffix {
			id, err := records.ParseContainerID(key[:n])
			return id, suffix, err
		}
	}
	return id, "", fmt.Errorf("key %q is not one of a container", key)
}

func parseRequest(b []byte, types records.ResourceTypes) (loaded, error) {
	var req pb.StartContainerRequest
	if err := proto.Unmarshal(b, &req); err != nil {
		return loaded{}, err
	}
	l := loaded{token: req.GetContainerToken().GetIdentifier(), context: req.GetContainerLaunchContext()}
	var id pb.ContainerTokenIdentifier
	if err := proto.Unmarshal(l.token, &id); err != nil {
		return loaded{}, err
	}
	var err error
	l.grant, err = allocation.From(&id, types)
	return l, err
}
