package leafpolicy

import (
	"fmt"
	"strconv"

	"heddle/conf"
)

// Setting is a number that queues with an order of applications have. Its key is ordering-policy.ORDER.NAME in a queue, and
// heddle.scheduler.ORDER.NAME for all queues that don't set it.
type Setting struct {
	Name        string
	Least, Most float64
	Ordering    string // AddOrdering sets it
}

// numbers are the settings of all orders.
var numbers []Setting

// Values are settings by their names.
type Values map[string]float64

// Key returns a setting's key in a queue, behind the queue's path.
func (s *Setting) Key() string { return "ordering-policy." + s.Ordering + "." + s.Name }

// Default returns the key of its value in queues that don't set it.
func (s *Setting) Default() string { return "heddle.scheduler." + s.Ordering + "." + s.Name }

// Parse reads its value. An error says what is allowed.
func (s *Setting) Parse(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= s.Least && x <= s.Most) {
		return s.Least, fmt.Errorf("it must be a number from %v to %v", s.Least, s.Most)
	}
	return x, nil
}

// IsSetting reports whether a key of a queue, behind its path, is a setting of some order.
func IsSetting(key string) bool {
	for i := range numbers {
		if numbers[i].Key() == key {
			return true
		}
	}
	return false
}

// Read reads the settings of an order of a queue. own returns the name and the value of one of the queue's own keys, which is empty if the queue
// doesn't set it. The others are those for all queues, which the configuration has checked. Settings of the queue for other orders have no
// effect now, but must be valid.
func Read(order string, c *conf.Config, own func(key string) (name, value string), fail func(name, value, reason string)) Values {
	out := Values{}
	for i := range numbers {
		s := &numbers[i]
		x := c.Float(s.Default())
		if name, text := own(s.Key()); text != "" {
			var err error
			if x, err = s.Parse(text); err != nil {
				fail(name, text, err.Error())
			}
		}
		if s.Ordering == order {
			out[s.Name] = x
		}
	}
	return out
}
