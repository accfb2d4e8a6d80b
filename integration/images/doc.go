// Package images runs jobs in images, on a ResourceManager and a node of their own.
package images
