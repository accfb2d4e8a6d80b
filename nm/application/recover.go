package application

import (
	"encoding/json"
	"fmt"

	"heddle/yarn/records"
)

// Recover reads the applications of an earlier process. Call it before anything else, and Resume after adding their
// containers.
func (s *Set) Recover() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.Records.ForEach("", func(key string, value []byte) error {
		id, err := records.ParseApplicationID(key)
		if err != nil {
			return err
		}
		var kept saved
		if err := json.Unmarshal(value, &kept); err != nil {
			return err
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
				s.Log.WithField("app", a.id.String()).WithError(err).Error("Could not prepare the application again")
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
