package handle

// Node, App and Container name what the scheduler holds. They are reused after their object is gone.
type (
	Node      int32
	App       int32
	Container int32
)

// Take returns the handle of an object that was released, else of a new one, which it appends.
func Take[T any, H ~int32](all *[]T, free *[]H) H {
	if k := len(*free); k > 0 {
		h := (*free)[k-1]
		*free = (*free)[:k-1]
		return h
	}
	var zero T
	*all = append(*all, zero)
	return H(len(*all) - 1)
}

// Handles of nothing.
const (
	NoNode      = Node(-1)
	NoApp       = App(-1)
	NoContainer = Container(-1)
)
