"""Why a gate ended as it did, in words: a module for each family of gates, with the reasons that its judge may give."""
