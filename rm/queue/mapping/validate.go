package mapping

import (
	"fmt"
	"strings"
)

// Validate says why a rule can't work with these queues, in Hadoop's words (Hadoop: MappingRuleValidationContextImpl). A rule whose path
// has variables is good if some queue could match.
func (r *Rule) Validate(queues Queues) error {
	if r.action != place {
		return nil
	}
	if r.target == "" {
		return words("Queue path is empty.")
	}
	parts := split(r.target)
	for _, part := range parts {
		switch {
		case part == "":
			return words("Path segment cannot be empty '%s'.", r.target)
		case variable(part):
			return validateDynamic(queues, parts, r.target)
		}
	}
	return validateStatic(queues, r.target)
}

// variable reports whether a part of a path is replaced when rules are applied.
func variable(part string) bool {
	switch part {
	case "%user", "%primary_group", "%secondary_group", "%application", "%specified", "%default":
		return true
	}
	return false
}

// validateStatic checks a path without variables.
func validateStatic(queues Queues, path string) error {
	parent, leaf, nested := cut(path)
	if !nested {
		parent = "null" // as Java shows it
	}
	full, err := root(queues, path)
	if err != nil {
		return err
	}
	switch validity(queues, full) {
	case ambiguousParent:
		return words("Target queue path '%s' contains an ambiguous parent queue '%s' reference.", path, parent)
	case ambiguousQueue:
		return words("Target queue is an ambiguous leaf queue '%s'.", path)
	case emptyPath:
		return words("Mapping rule did not specify a target queue.")
	case noParent:
		return words("Target queue does not exist and has no parent defined '%s'.", path)
	case noDynamicParent:
		return words("Mapping rule specified a parent queue '%s', but it is not a dynamic parent queue, and no queue exists with name '%s' under it.", parent, leaf)
	case exists:
		if q, _ := queues.Lookup(full); !q.Leaf {
			return words("Target queue '%s' but it's not a leaf queue.", path)
		}
	}
	return nil
}

// validateDynamic checks the part of a path before its first variable.
func validateDynamic(queues Queues, parts []string, path string) error {
	n := 0
	for n < len(parts) && !variable(parts[n]) {
		n++
	}
	if n == 0 {
		return nil
	}
	full, err := root(queues, strings.Join(parts[:n], "."))
	if err != nil {
		return err
	}
	if q, ok := queues.Lookup(full); ok {
		if q.Leaf {
			return words("Queue path '%s' is invalid because '%s' is a leaf queue, which can have no other queues under it.", path, full)
		}
		return nil
	}
	if n > 1 {
		above, err := root(queues, strings.Join(parts[:n-1], "."))
		if err != nil {
			return err
		}
		if q, ok := queues.Lookup(above); ok && !q.Leaf && (q.Flexible || q.Legacy) {
			return nil
		}
	}
	return words("No eligible parent found on path '%s'.", path)
}

// String names the rule in messages.
func (r *Rule) String() string {
	match := [...]string{"everybody", "user " + r.matches, "group " + r.matches, "application " + r.matches}[r.kind]
	switch r.action {
	case reject:
		return "reject " + match
	case setDefault:
		return fmt.Sprintf("%s: %%default = %s", match, r.target)
	}
	return fmt.Sprintf("%s: %s", match, r.target)
}
