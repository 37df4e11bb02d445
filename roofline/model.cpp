// The mathematics of the roofline.
