// Package past serves the logs of containers on a ResourceManager's web port: of ended applications from where nodes have aggregated them, and of
// others from their nodes. The ResourceManager says who may see them.
package past
