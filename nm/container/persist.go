package container

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"

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
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("container %s: %w", c.ID(), err)
	}
	if err := c.m.ContainerRecords.Put(c.ID().String()+requestKey, b); err != nil {
		return err
	}
	return c.trySave()
}

func (c *Container) trySave() error {
	c.mu.Lock()
	b, err := json.Marshal(&c.record)
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("container %s: %w", c.ID(), err)
	}
	return c.m.ContainerRecords.Put(c.ID().String()+recordKey, b)
}

// save is trySave where nothing can be done about a failure: the container goes its way, and after a restart is taken
// up where it was last noted to be.
func (c *Container) save() {
	if err := c.trySave(); err != nil {
		c.log.WithError(err).Error("Could not note down the container's state")
	}
}

func (c *Container) forget() {
	for _, suffix := range []string{recordKey, requestKey} {
		if err := c.m.ContainerRecords.Delete(c.ID().String() + suffix); err != nil {
			c.log.WithError(err).Warn("Could not forget the container")
		}
	}
}

// loaded is a container as the store has it.
type loaded struct {
	grant   Grant
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
	l.grant, err = GrantFrom(&id, types)
	return l, err
}
