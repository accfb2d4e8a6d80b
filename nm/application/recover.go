package application

import (
	"encoding/json"
	"fmt"

	"heddle/yarn/records"
)

// Recover reads the applications of an earlier process. Call it before anything else, and Resume after adding their
// containers. It removes records that make no sense: an application's containers bring what is needed once more.
func (s *Set) Recover() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.Records.ForEach("", func(key string, value []byte) error {
		id, err := records.ParseApplicationID(key)
		var kept saved
		if err == nil {
			err = json.Unmarshal(value, &kept)
		}
		if err == nil && id.String() != key {
			err = fmt.Errorf("the record should be %s", id) // nothing would remove it
		}
		if err != nil {
			s.Log.WithField("key", key).WithError(err).Error("removing the record of an application, which is damaged")
			return s.Records.Delete(key)
		}
		s.apps[id] = s.newApplication(id, kept)
		return nil
	})
	if err != nil {
		return fmt.Errorf("recover applications: %w", err)
	}
	return nil
}

// Resume initializes the recovered applications, and continues to end those that were ending.
func (s *Set) Resume() {
	for _, a := range s.all() {
		s.Go(func() {
			if err := a.ready(s.ctx); err != nil && s.ctx.Err() == nil {
				s.Log.WithField("application", a.id.String()).WithError(err).Error("could not prepare the application again")
			}
			a.mu.Lock()
			finishing := a.finishing
			a.checkEmpty()
			a.mu.Unlock()
			if finishing {
				a.finish(s.ctx)
			}
		})
	}
}
