package command

import (
	"heddle/cmd/heddle/internal/receipts"
	"heddle/cmd/heddle/internal/timelines"
	"heddle/yarn/records"
)

// askOf asks Heddle's ResourceManager for something of an application. With -json it prints the answer, and printed is true.
func (s *session) askOf(text, what string, into any) (id records.ApplicationID, printed bool, err error) {
	if id, err = records.ParseApplicationID(text); err != nil {
		return id, false, err
	}
	path := heddleAPI + "/apps/" + id.String() + "/" + what
	if s.json {
		return id, true, notHeddle(s.printREST(path, nil))
	}
	c, err := s.cluster()
	if err != nil {
		return id, false, err
	}
	if err := c.GetInto(s, path, nil, into); err != nil {
		return id, false, notHeddle(err)
	}
	return id, false, nil
}

// appTimeline prints when an application and its containers reached each step.
func (s *session) appTimeline(text string) error {
	var answer struct{ Timeline timelines.Timeline }
	id, printed, err := s.askOf(text, "timeline", &answer)
	if printed || err != nil {
		return err
	}
	return answer.Timeline.Write(s.out, id.String())
}

// appReceipt prints where an application's time went.
func (s *session) appReceipt(text string) error {
	var answer struct{ Receipt receipts.Receipt }
	id, printed, err := s.askOf(text, "receipt", &answer)
	if printed || err != nil {
		return err
	}
	return answer.Receipt.Write(s.out, id.String())
}
