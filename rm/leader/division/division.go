// Package division divides a cluster between long and short work, as Hawk, Eagle and Dice do: which applications have long tasks
// (Settings.Long), and which nodes take none (Nodes). It is pure. Package partition has the rules; this one applies them to applications,
// queues and nodes.
package division

import (
	"strings"
	"time"

	"heddle/rm/scheduler/policy/partition"
	"heddle/yarn/pb"
)

// Settings say what is long, and what follows from it. The zero value: nothing is long.
type Settings struct {
	partition.Settings
	// TaskTimes is the mean task time of applications of a queue, by the queue's path, of those below it too. A queue's own entry wins.
	TaskTimes map[string]time.Duration
}

// On reports whether anything is long. Without a cutoff nothing is.
func (s *Settings) On() bool { return s.Cutoff > 0 }

// Long reports whether the tasks of an application are long, by what its submission says (partition.Property), else by its tags (partition.Tag), else
// by its queue. Tasks of unknown length are long. A time that can't be read is an error; such applications count as those that say none.
func (s *Settings) Long(of *pb.ApplicationSubmissionContext, queue string) (bool, error) {
	if !s.On() {
		return false, nil
	}
	inQueue, submitted := s.taskTime(queue), ""
	for _, p := range of.GetApplicationSchedulingProperties() {
		if p.GetKey() == partition.Property {
			submitted = p.GetValue()
		}
	}
	d, known, err := partition.Estimate(submitted, of.GetApplicationTags(), inQueue)
	if err != nil {
		d, known = inQueue, inQueue > 0
	}
	return !known || s.Settings.Long(d), err
}

// taskTime is that of the nearest queue, upwards, of which one is known; 0: of none.
func (s *Settings) taskTime(queue string) time.Duration {
	for {
		if d, ok := s.TaskTimes[queue]; ok {
			return d
		}
		up := strings.LastIndexByte(queue, '.')
		if up < 0 {
			return 0
		}
		queue = queue[:up]
	}
}
