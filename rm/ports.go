package rm

import (
	"errors"

	"heddle/conf"
	"heddle/internal/listen"
	"heddle/rm/raft"
)

// listen opens the port at the address of a key.
func (r *ResourceManager) listen(key string) error {
	set := key
	if key == WebAddress {
		set = webKey(r.conf)
	}
	a, err := r.conf.RMListen(set, r.id)
	if err != nil {
		return err
	}
	l, err := listen.TCP(a.String(), set)
	if err != nil {
		return err
	}
	r.listeners[key] = r.counter.Listen(l, key)
	return nil
}

// join opens raft and the replicated state.
func (r *ResourceManager) join(p *prepared) (err error) {
	cfg := p.raft
	cfg.Log = r.log
	if len(cfg.Members) > 1 {
		for _, m := range cfg.Members {
			if m.ID != r.id {
				continue
			}
			a, err := conf.ParseAddress(m.Address, 0)
			if err != nil {
				return err
			}
			if host := r.conf.Text("yarn.resourcemanager.bind-host"); host != "" {
				a.Host = host
			}
			if cfg.Listener, err = listen.TCP(a.String(), "heddle.raft.address."+r.id); err != nil {
				return err
			}
			if err := raft.CheckListener(cfg.Listener, cfg.TLS); err != nil {
				return errors.Join(unsafeRaft(r.conf, r.id, err), cfg.Listener.Close())
			}
		}
	}
	r.replica = newReplica(r.log, r.fail, r.Feed)
	if r.timeline != nil {
		r.replica.follower = r.timeline.Follower(r.view)
	}
	r.raft, err = raft.Open(cfg, r.replica)
	if err != nil && cfg.Listener != nil {
		_ = cfg.Listener.Close()
	}
	if halted := r.replica.Halted(); err != nil && halted != nil {
		return halted // raft doesn't say it
	}
	return err
}
