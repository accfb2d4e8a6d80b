// Package hopper is the study of Hopper: the evaluation of its text, and its example.
package hopper
