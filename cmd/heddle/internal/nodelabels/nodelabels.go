// Package nodelabels reads labels of nodes from a command line. It depends on little, so that its fuzz target is small, and fast.
package nodelabels

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"heddle/cmd/heddle/internal/option"
)

// Label is a label of the cluster.
type Label struct {
	Name      string
	Exclusive bool
}

// errFormat is Hadoop's (RMAdminCLI).
var errFormat = fmt.Errorf("%s", "Input format for adding node-labels is not correct, it should be labelName1[(exclusive=true/false)],LabelName2[] ..")

// Parse reads name or name(exclusive=true).
func Parse(text string) (Label, error) {
	name, property, has := strings.Cut(text, "(")
	exclusive := true
	if has {
		key, value, _ := strings.Cut(strings.TrimSuffix(property, ")"), "=")
		value = strings.ToLower(strings.TrimSpace(value))
		if strings.TrimSpace(key) != "exclusive" || value != "true" && value != "false" || !strings.HasSuffix(property, ")") {
			return Label{}, errFormat
		}
		exclusive = value == "true"
	}
	if name = strings.TrimSpace(name); name == "" {
		return Label{}, errFormat
	}
	return Label{Name: name, Exclusive: exclusive}, nil
}

// Node is a node with its label. Port 0 stands for all NodeManagers of the host. Without a label the node loses its labels.
type Node struct {
	Host  string
	Port  int32
	Label string
}

// ParseNode reads node[:port]=label, or the older form node[:port],label.
func ParseNode(text string) (n Node, err error) {
	node, rest, ok := strings.Cut(text, "=")
	if !ok {
		node, rest, _ = strings.Cut(text, ",")
	}
	host, port, hasPort := strings.Cut(node, ":")
	if host == "" {
		return Node{}, errors.New("node name cannot be empty")
	}
	n.Host = host
	if hasPort {
		p, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return Node{}, fmt.Errorf("%s: %s", "Invalid port", port)
		}
		n.Port = int32(p)
	}
	labels := option.Words([]string{rest})
	if len(labels) > 1 {
		//lint:ignore ST1005 Hadoop's words
		return Node{}, fmt.Errorf("%d labels specified on host=%s, please note that we do not support specifying multiple labels on a single host for now.", len(labels), host)
	}
	if len(labels) == 1 {
		n.Label = labels[0]
	}
	return n, nil
}
