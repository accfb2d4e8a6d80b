// Package restlist reads lists of REST answers. It depends on nothing of the commands, so that its fuzz target is small, and fast.
package restlist

import (
	"bytes"
	"encoding/json"
)

// List is a list that may be written as its only element.
type List[T any] []T

func (l *List[T]) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return json.Unmarshal(data, (*[]T)(l))
	}
	var one T
	if err := json.Unmarshal(data, &one); err != nil {
		return err
	}
	*l = List[T]{one}
	return nil
}
