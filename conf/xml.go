package conf

import (
	"strings"

	"heddle/internal/xmltree"
)

// What reading a file says.
type (
	Source      = xmltree.Source
	SyntaxError = xmltree.SyntaxError
	Element     = xmltree.Element
)

// ReadXML reads an XML file, such as the queues of FairScheduler (xmltree.ReadXML).
func ReadXML(path string) (*Element, error) { return xmltree.ReadXML(path) }

// ParseXML parses XML in memory (xmltree.ParseXML).
func ParseXML(name string, data []byte) (*Element, error) { return xmltree.ParseXML(name, data) }

// trim removes what Java's String.trim removes: spaces and control characters at both ends.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}
